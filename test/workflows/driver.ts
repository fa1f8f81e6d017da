import { canonicalJson } from "../../src/model/canonical.ts";
import type { Graph } from "../../src/model/graph.ts";
import type { AttemptRef, JournalInput, RunEnding } from "../../src/model/run.ts";
import type { GraphCommand, GraphEvent, GraphState } from "../../src/workflows/state.ts";
import { fold, INITIAL_STATE, step } from "../../src/workflows/step.ts";
import { type Outcomes, STEADY } from "./programs.ts";

/** What happens to a run from outside, by the number of the moment at which it does. */
export type Fate = {
  /** Chooses what goes on next, of all that could. */
  order: number;
  /** The runner dies. */
  crashes?: readonly number[];
  pauses?: readonly number[];
  cancel?: number;
  deadline?: number;
  /** What a person says of an attempt whose end nobody saw. */
  resolve?: "succeeded" | "failed" | "retry";
};

export type Driven = {
  ending: RunEnding;
  journal: JournalInput[];
  /** Nodes entered, by path. */
  entered: Map<string, number>;
};

type Running = AttemptRef & { begun: boolean };

/** An engine without I/O: it obeys the step function, and holds it to its promises as it goes. */
export class Driver {
  private state: GraphState = INITIAL_STATE;
  private readonly journal: JournalInput[] = [];
  private running: Running[] = [];
  private toPark: AttemptRef[] = [];
  private ending: RunEnding | undefined;
  private readonly failures = new Map<string, number>();
  private readonly graph: Graph;
  private readonly come: Outcomes;
  private readonly fate: Fate;
  private random: number;

  constructor(graph: Graph, come: Outcomes, fate: Fate) {
    this.graph = graph;
    this.come = come;
    this.fate = fate;
    this.random = fate.order;
  }

  run(): Driven {
    this.feed({ event: "start" });
    for (let moment = 0; ; moment += 1) {
      if (moment > 50_000) throw new Error("the run does not end");
      if (this.fate.crashes?.includes(moment)) this.newPass();
      if (this.fate.pauses?.includes(moment)) this.feed({ event: "pause" });
      if (this.fate.cancel === moment) this.append({ event: "cancel", by: "me", at: 0 });
      if (this.fate.deadline === moment) this.append({ event: "deadline", at: 0 });
      this.checkScopes();
      if (this.ending === undefined) this.advance();
      else if (this.ending.state === "succeeded" || this.ending.state === "failed") break;
      else this.unblock(this.ending);
    }
    return { ending: this.ending, journal: this.journal, entered: this.entries() };
  }

  private pick(count: number): number {
    this.random = (Math.imul(this.random, 1_664_525) + 1_013_904_223) >>> 0;
    return (this.random >>> 8) % count;
  }

  private append(entry: JournalInput): void {
    this.journal.push(entry);
    this.feed(entry);
  }

  private feed(event: GraphEvent): void {
    const before = JSON.stringify(this.state);
    const { state, commands } = step(this.graph, this.state, event);
    must(JSON.stringify(this.state) === before, "a step changes the state that it is given");
    if (state !== this.state) this.ending = undefined;
    this.state = state;
    for (const command of commands) this.obey(command);
  }

  private obey(command: GraphCommand): void {
    switch (command.do) {
      case "execute": {
        const ref = strip(command);
        const isTwice = this.running.some((other) => isSameVisit(other, ref));
        must(!isTwice, `${ref.node} is executed twice at once`);
        this.checkManual(ref);
        this.running.push({ ...ref, begun: false });
        return;
      }
      case "abort": {
        const found = this.running.find((other) => isSameVisit(other, command));
        if (found === undefined) return;
        must(found.begun === command.begun, "it is not known whether it had begun");
        if (!command.begun) this.running = this.running.filter((other) => other !== found);
        return;
      }
      case "park":
        this.toPark.push(strip(command));
        return;
      case "end":
        this.ending = command.ending;
    }
  }

  /** A manual attempt that had begun is made again only where its end is known, or a person says so. */
  private checkManual(ref: AttemptRef): void {
    if (this.graph.nodes[ref.node]?.safety !== "manual") return;
    const about = this.journal.filter((entry) => "visit" in entry && isSameVisit(entry, ref));
    const begun = about.findLastIndex(({ event }) => event === "begun");
    const settled = about
      .slice(begun + 1)
      .some(({ event }) => ["failed", "released"].includes(event));
    must(begun === -1 || settled, `${ref.node} is executed again`);
  }

  /** Lets one of the things that are under way go on. */
  private advance(): void {
    const parked = this.toPark.shift();
    if (parked !== undefined) {
      this.append({ event: "ambiguous", at: 0, kind: this.kindOf(parked), ...parked });
      return;
    }
    must(this.running.length > 0, "nothing is under way");
    const one = this.running[this.pick(this.running.length)] as Running;
    const isPure = this.graph.nodes[one.node]?.safety === "pure" && one.compensation !== true;
    if (!isPure && !one.begun) {
      one.begun = true;
      if (this.kindOf(one) === "checkpoint") this.drop(one);
      this.append({ event: "begun", at: 0, kind: this.kindOf(one), ...strip(one) });
      return;
    }
    this.drop(one);
    const isStopped = this.state.active.some(
      (visit) => isSameVisit(visit, one) && visit.state === "stopped",
    );
    if (isStopped && this.pick(2) === 0) {
      this.append({ event: "aborted", at: 0, kind: this.kindOf(one), startedAt: 0, ...strip(one) });
    } else this.append(this.endOf(one));
  }

  private endOf(ref: AttemptRef): JournalInput {
    const common = { at: 0, kind: this.kindOf(ref), startedAt: 0, ...strip(ref) };
    const nth = this.nthOf(ref);
    const { failures, choice } = this.come(ref.node, nth);
    const counted = `${ref.node}/${nth}/${String(ref.compensation)}`;
    const failed = this.failures.get(counted) ?? 0;
    const isWork = common.kind === "compute" || common.kind === "action";
    const canFail = isWork && this.graph.nodes[ref.node]?.title !== STEADY;
    if (canFail && failed < failures) {
      this.failures.set(counted, failed + 1);
      const error = { message: "no", reason: "Error" };
      return { event: "failed", error, retryable: true, ...common };
    }
    const cases = this.graph.nodes[ref.node]?.cases;
    const chosen = common.kind === "decision" ? cases?.[choice % cases.length] : undefined;
    return { event: "succeeded", ...common, ...(chosen === undefined ? {} : { choice: chosen }) };
  }

  /** How often the node had been entered when this visit was. */
  private nthOf({ visit, node }: AttemptRef): number {
    const visits = new Set<number>();
    for (const entry of [...this.journal, ...this.state.active]) {
      if ("visit" in entry && entry.node === node && entry.visit < visit) visits.add(entry.visit);
    }
    return visits.size + 1;
  }

  /** What a person does about a run that waits. */
  private unblock(ending: RunEnding): void {
    this.newPass();
    for (const visit of this.state.active) {
      const about = { at: 0, kind: this.kindOf(visit), startedAt: 0, by: "me", ...strip(visit) };
      if (ending.state === "waiting" && visit.state === "begun") {
        if (about.kind === "checkpoint") this.append({ event: "succeeded", ...about });
      } else if (visit.state === "ambiguous") {
        const { by: _by, ...unsigned } = about;
        const error = { message: "says a person", reason: "Resolved" };
        if (this.fate.resolve === "retry") this.append({ event: "released", ...about });
        else if (this.fate.resolve === "failed") {
          this.append({ event: "failed", error, retryable: false, ...unsigned });
        } else this.append({ event: "succeeded", ...about });
      }
    }
  }

  /** A new runner knows nothing but the journal. */
  private newPass(): void {
    this.running = [];
    this.toPark = [];
    const replayed = fold(this.graph, INITIAL_STATE, [{ event: "start" }, ...this.journal]);
    const isSame = canonicalJson({ ...this.state, paused: false }) === canonicalJson(replayed);
    must(isSame, "the journal does not come to the state");
    this.state = JSON.parse(JSON.stringify(replayed)) as GraphState;
    this.append({ event: "recovered", at: 0 });
  }

  private checkScopes(): void {
    const { active } = this.state;
    const places = active.map(
      ({ node, scope, compensation }) => `${scope} ${node} ${compensation}`,
    );
    must(new Set(places).size === places.length, "a node is entered twice at once");
    for (const { scope, node } of active) {
      for (const other of active) {
        const [, inner] = other.scope.split(`${scope}>`);
        if (!other.scope.startsWith(`${scope}>`) || inner === undefined) continue;
        const fork = inner.split(">")[0]?.split(".").slice(2).join(".") as string;
        must(this.graph.edges[fork]?.parallel?.join !== node, `${node} begins too soon`);
      }
    }
  }

  private entries(): Map<string, number> {
    const visits = new Map<number, string>();
    for (const entry of this.journal) if ("visit" in entry) visits.set(entry.visit, entry.node);
    const entered = new Map<string, number>();
    for (const node of visits.values()) entered.set(node, (entered.get(node) ?? 0) + 1);
    return entered;
  }

  private drop(one: Running): void {
    this.running = this.running.filter((other) => other !== one);
  }

  private kindOf({ node }: AttemptRef) {
    return this.graph.nodes[node]?.kind ?? "compute";
  }
}

function must(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what);
}

function strip({ visit, node, attempt, compensation }: AttemptRef): AttemptRef {
  return { visit, node, attempt, ...(compensation ? { compensation } : {}) };
}

function isSameVisit(one: AttemptRef, other: AttemptRef): boolean {
  return one.visit === other.visit && (one.compensation ?? false) === (other.compensation ?? false);
}
