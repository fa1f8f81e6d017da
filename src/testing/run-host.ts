import type { AgentAnswer } from "../model/agent.ts";
import type { Json } from "../model/canonical.ts";
import { PiWorkflowsError } from "../model/errors.ts";
import { LIMITS } from "../model/limits.ts";
import type { Clock } from "../model/ports.ts";
import type {
  JournalEntry,
  JournalInput,
  NodeResolution,
  RunLogInput,
  RunOrders,
} from "../model/run.ts";
import type { AgentQuestion, RunHost } from "../runner/run-port.ts";
import { askScript, type AgentScript } from "./agents.ts";
import { TestLedger } from "./ledger.ts";

/** The server as one run sees it, in memory: journal, orders, ledger, log and agents. */
export class TestRunHost implements RunHost {
  readonly entries: JournalEntry[] = [];
  readonly logged: RunLogInput[] = [];
  readonly questions: AgentQuestion[] = [];
  readonly orders: RunOrders = { answers: [], resolutions: [] };
  readonly ledger: TestLedger;
  readonly secrets: readonly string[] = [];
  epoch = 0;
  /** After so many more lines the runner is dead: nothing of it is written any more. */
  linesLeft = Number.POSITIVE_INFINITY;
  /** Told of each line when it is durable. */
  onLine: (entry: JournalEntry) => void = () => undefined;
  readonly #script: AgentScript | undefined;
  /** So many more lines are written at once; further ones wait. */
  #granted = Number.POSITIVE_INFINITY;
  #grant: () => void = () => undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(runId: string, clock: Clock, script: AgentScript | undefined) {
    this.ledger = new TestLedger(runId, () => clock.now());
    this.#script = script;
  }

  /** Lets so many more lines be written before writers wait. */
  grant(lines: number): void {
    this.#granted = lines;
    this.#grant();
  }

  async beginEffect(request: Parameters<RunHost["beginEffect"]>[0]) {
    return this.ledger.begin(request, 1);
  }

  async settleEffect(settlement: Parameters<RunHost["settleEffect"]>[0]) {
    return this.ledger.settle(settlement);
  }

  async readJournal(after: number, limit: number): Promise<JournalEntry[]> {
    return structuredClone(this.entries.slice(after, after + limit));
  }

  /** In the order of the calls, each durable a turn of the event loop after it was asked for. */
  appendJournal(lines: JournalInput[]): Promise<void> {
    const text = JSON.stringify(lines);
    const append = this.#last.then(() => this.#append(JSON.parse(text) as JournalInput[]));
    this.#last = append.catch(() => undefined);
    return append;
  }

  async appendRunLog(entries: RunLogInput[]): Promise<void> {
    this.logged.push(...entries);
  }

  async runOrders(): Promise<RunOrders> {
    return structuredClone(this.orders);
  }

  async askAgent(question: AgentQuestion): Promise<AgentAnswer> {
    this.questions.push(question);
    return askScript(this.#script, question);
  }

  async closeAgent(_conversation: string): Promise<void> {}

  log(): void {}

  /** The first answer to each turn of a checkpoint wins. @throws PiWorkflowsError ALREADY_ANSWERED */
  answer(node: string, value: Json, by: string): void {
    const reached = [...this.#reached(node)];
    const open = reached.findIndex(([, isOpen]) => isOpen);
    const ordinal = (open === -1 ? reached.length : open) + 1;
    if (this.orders.answers.some((one) => one.node === node && one.ordinal === ordinal)) {
      throw new PiWorkflowsError("ALREADY_ANSWERED", `${node} was answered`);
    }
    this.orders.answers.push({ node, ordinal, value, by });
  }

  /** Of the newest attempt whose end was not seen. @throws PiWorkflowsError NOT_AMBIGUOUS */
  resolve(resolution: NodeResolution, by: string): void {
    const open = new Map<number, JournalEntry>();
    for (const entry of this.entries) if ("visit" in entry) open.set(entry.visit, entry);
    const last = [...open.values()].findLast((entry) => entry.event === "ambiguous");
    if (last?.event !== "ambiguous") {
      throw new PiWorkflowsError("NOT_AMBIGUOUS", "no attempt is ambiguous");
    }
    this.orders.resolutions.push({ ...resolution, visit: last.visit, by });
  }

  async #append(lines: JournalInput[]): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    for (const line of lines) {
      while (this.#granted <= 0) await new Promise<void>((resolve) => (this.#grant = resolve));
      if (this.linesLeft <= 0) throw new PiWorkflowsError("LEASE_LOST", "the runner is dead");
      this.#granted -= 1;
      this.linesLeft -= 1;
      const entry = { ...line, sequence: this.entries.length + 1, epoch: this.epoch };
      if (Buffer.byteLength(JSON.stringify(entry)) > LIMITS.runnerMessage) {
        throw new PiWorkflowsError("TOO_LARGE", `line ${entry.sequence} is too large`);
      }
      this.entries.push(entry);
      this.#take(entry);
      this.onLine(entry);
    }
  }

  /** What a person said is done with once the journal has it. */
  #take(entry: JournalEntry): void {
    const { orders } = this;
    if (entry.event === "cancel") delete orders.cancel;
    if (!("visit" in entry) || entry.event === "ambiguous") return;
    orders.resolutions = orders.resolutions.filter(({ visit }) => visit !== entry.visit);
    // An answer that does not fit ends as `aborted`, and the checkpoint asks again.
    if (!("kind" in entry) || entry.kind !== "checkpoint" || entry.event === "begun") return;
    const ordinal = [...this.#reached(entry.node).keys()].indexOf(entry.visit) + 1;
    orders.answers = orders.answers.filter(
      (answer) => answer.node !== entry.node || answer.ordinal !== ordinal,
    );
  }

  /** The visits of a checkpoint in the order in which it was reached, and whether each is open. */
  #reached(node: string): Map<number, boolean> {
    const visits = new Map<number, boolean>();
    for (const entry of this.entries) {
      if (!("kind" in entry) || entry.kind !== "checkpoint" || entry.node !== node) continue;
      visits.set(entry.visit, entry.event === "begun");
    }
    return visits;
  }
}
