import type { AgentAnswer } from "../../../../src/model/agent.ts";
import { PiWorkflowsError } from "../../../../src/model/errors.ts";
import type {
  JournalEntry,
  JournalInput,
  RunLogInput,
  RunOrders,
} from "../../../../src/model/run.ts";
import type { AgentQuestion, RunHost, RunPass } from "../../../../src/runner/run-port.ts";
import { memoryHost, type MemoryHost } from "../../support/host.ts";

/**
 * The host of one run, in memory: the journal is append-only, written in the order of the calls, and
 * a line is durable a turn of the event loop after it was asked for.
 */
export class MemoryRunHost implements RunHost {
  readonly entries: JournalEntry[] = [];
  readonly logged: RunLogInput[] = [];
  readonly questions: AgentQuestion[] = [];
  readonly closed: string[] = [];
  readonly orders: RunOrders = { answers: [], resolutions: [] };
  readonly ledger: MemoryHost;
  epoch = 0;
  /** Calls of `appendJournal`. */
  appends = 0;
  /** Entries of one page. */
  pageSize = 3;
  /** Answers questions to agents. */
  answer: (question: AgentQuestion) => AgentAnswer | Promise<AgentAnswer> = () => {
    throw new Error("no agent here");
  };
  /** After so many more lines the pass loses its claim, as if its runner had died there. */
  linesLeft = Number.POSITIVE_INFINITY;
  /** Told of each line when it is durable. */
  onLine: (entry: JournalEntry) => void = () => {};
  #last: Promise<unknown> = Promise.resolve();

  beginEffect(...request: Parameters<RunHost["beginEffect"]>) {
    return this.ledger.beginEffect(...request);
  }

  settleEffect(...settlement: Parameters<RunHost["settleEffect"]>) {
    return this.ledger.settleEffect(...settlement);
  }

  constructor(now: () => number = Date.now) {
    this.ledger = memoryHost(now);
  }

  readJournal(after: number): Promise<JournalEntry[]> {
    return Promise.resolve(this.entries.slice(after, after + this.pageSize));
  }

  appendJournal(lines: JournalInput[]): Promise<void> {
    this.appends += 1;
    const text = JSON.stringify(lines);
    const append = this.#last.then(() => this.#append(JSON.parse(text) as JournalInput[]));
    this.#last = append.catch(() => {});
    return append;
  }

  async #append(lines: JournalInput[]): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    for (const line of lines) {
      if (this.linesLeft <= 0) throw new PiWorkflowsError("LEASE_LOST", "the runner is dead");
      this.linesLeft -= 1;
      const entry = { ...line, sequence: this.entries.length + 1, epoch: this.epoch };
      this.entries.push(entry);
      this.#take(entry);
      this.onLine(entry);
    }
  }

  /** What a person said is done with once the journal has it. */
  #take(entry: JournalEntry): void {
    if (entry.event === "cancel") delete this.orders.cancel;
    if (!("visit" in entry)) return;
    const { orders } = this;
    orders.resolutions = orders.resolutions.filter(
      ({ visit }) => visit !== entry.visit || entry.event === "ambiguous",
    );
    if ("kind" in entry && entry.kind === "checkpoint" && entry.event !== "begun") {
      const ordinal = this.ordinalOf(entry.node, entry.visit);
      orders.answers = orders.answers.filter(
        (answer) => answer.node !== entry.node || answer.ordinal !== ordinal,
      );
    }
  }

  ordinalOf(node: string, visit: number): number {
    const visits = new Set<number>();
    for (const entry of this.entries) {
      if ("kind" in entry && entry.kind === "checkpoint" && entry.node === node) {
        visits.add(entry.visit);
      }
    }
    return [...visits].indexOf(visit) + 1;
  }

  appendRunLog(entries: RunLogInput[]): Promise<void> {
    this.logged.push(...entries);
    return Promise.resolve();
  }

  runOrders(): Promise<RunOrders> {
    return Promise.resolve(structuredClone(this.orders));
  }

  async askAgent(question: AgentQuestion): Promise<AgentAnswer> {
    this.questions.push(question);
    return this.answer(question);
  }

  closeAgent(conversation: string): Promise<void> {
    this.closed.push(conversation);
    return Promise.resolve();
  }

  log(): void {}

  /** The next pass of the run. */
  pass(input: RunPass["input"] = {}, parts: Partial<RunPass> = {}): RunPass {
    this.epoch += 1;
    return {
      runId: "run-1",
      project: process.cwd(),
      workflow: "probe",
      digest: "d",
      input,
      epoch: this.epoch,
      remainingMs: 60_000,
      ...parts,
    };
  }

  /** `event node` of every line, for comparison. */
  get story(): string[] {
    return this.entries.map((entry) =>
      "node" in entry ? `${entry.event} ${entry.node}` : entry.event,
    );
  }

  /** The latest line that says how a node ended well. */
  succeeded(node: string): JournalEntry | undefined {
    return this.entries.findLast((entry) => entry.event === "succeeded" && entry.node === node);
  }

  said(stream: RunLogInput["stream"]): string {
    return this.logged
      .filter((entry) => entry.stream === stream)
      .map(({ text }) => text)
      .join("");
  }
}
