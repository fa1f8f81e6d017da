import { RUNTIME_CONDITIONS, TERMINAL_ERROR } from "../model/condition.ts";
import { PiWorkflowsError } from "../model/errors.ts";
import { describeRef } from "../model/resource.ts";
import type { ManagedResourceCondition, ResourceSummary } from "../model/resource.ts";
import { identityOf } from "../diff/identity.ts";

/** What is waited for: that resources are gone, or that a condition has a status. */
export type WaitGoal = "deleted" | { condition: string; status: boolean };

/** One resource that is waited for. */
export type WaitTarget = {
  resourceManager: string;
  key: string;
  /** Where known: another uid under the same key is another resource. */
  uid?: string;
  /** The generation that was applied; an older one proves nothing. */
  generation?: number;
};

/**
 * How one wait ended: `stalled` where the runtime has stopped trying and `suspended` where a person
 * has stopped it, so that no wait can help.
 */
export type WaitOutcome = WaitTarget & {
  state: "met" | "stalled" | "suspended";
  condition?: ManagedResourceCondition;
};

/** One target with the latest that was seen of it. */
type Entry = { target: WaitTarget; resource?: ResourceSummary; outcome?: WaitOutcome };

/** A wait for several resources as far as it has come. */
export class Waiting {
  readonly #goal: WaitGoal;
  readonly #entries: Map<string, Entry>;
  #open: number;

  constructor(targets: readonly WaitTarget[], goal: WaitGoal) {
    this.#goal = goal;
    this.#entries = new Map(
      targets.map((target) => [identityOf(target.resourceManager, target.key), { target }]),
    );
    this.#open = this.#entries.size;
  }

  /** True where every target has an outcome. */
  isOver(): boolean {
    return this.#open === 0;
  }

  outcomes(): WaitOutcome[] {
    return [...this.#entries.values()].flatMap(({ outcome }) => outcome ?? []);
  }

  /** Takes in one state of one resource. @throws NOT_FOUND where another has taken its name. */
  seePresent(resource: ResourceSummary): void {
    const entry = this.#find(resource);
    if (!entry) return;
    entry.resource = resource;
    const { uid } = entry.target;
    if (uid !== undefined && uid !== resource.metadata.uid) {
      this.#miss(entry, "another resource has taken the name of");
    } else {
      this.#settle(entry, judge(entry.target, resource, this.#goal));
    }
  }

  /** Takes in that a resource is gone. @throws NOT_FOUND where it should have reached a condition. */
  seeRemoved(resource: ResourceSummary): void {
    const entry = this.#find(resource);
    if (entry) this.#miss(entry, "there no longer is");
  }

  /** Takes in that all that exist have been seen. @throws NOT_FOUND */
  seeListed(): void {
    for (const entry of this.#entries.values()) {
      if (!entry.resource && !entry.outcome) this.#miss(entry, "there is no");
    }
  }

  /** What is left and why, as the error of a wait that took too long. */
  timedOut(timeoutMs: number): PiWorkflowsError {
    const left = [...this.#entries.values()].filter(({ outcome }) => outcome === undefined);
    const lines = left.map((entry) => `  ${describeRef(entry.target)}: ${why(entry, this.#goal)}`);
    return new PiWorkflowsError(
      "WAIT_TIMEOUT",
      `${left.length} of ${this.#entries.size} did not get there within ${timeoutMs / 1000} s:\n` +
        lines.join("\n"),
      { details: { waiting: left.map(({ target }) => target) } },
    );
  }

  #find({ metadata }: ResourceSummary): Entry | undefined {
    return this.#entries.get(identityOf(metadata.resourceManager, metadata.key));
  }

  #miss(entry: Entry, how: string): void {
    if (this.#goal !== "deleted") {
      throw new PiWorkflowsError("NOT_FOUND", `${how} ${describeRef(entry.target)}`);
    }
    this.#settle(entry, { ...entry.target, state: "met" });
  }

  // An outcome is taken back when a later state no longer has it: all must hold at once.
  #settle(entry: Entry, outcome: WaitOutcome | undefined): void {
    if (entry.outcome) this.#open += 1;
    if (outcome) {
      entry.outcome = outcome;
      this.#open -= 1;
    } else {
      delete entry.outcome;
    }
  }
}

function judge(
  target: WaitTarget,
  { metadata, conditions, suspended }: ResourceSummary,
  goal: WaitGoal,
): WaitOutcome | undefined {
  const { generation } = metadata;
  if (generation < (target.generation ?? 0)) return undefined;
  const current = conditions.filter((condition) => condition.observedGeneration === generation);
  if (goal !== "deleted") {
    const condition = current.find(({ type }) => type === goal.condition);
    if (condition?.status === goal.status) return { ...target, state: "met", condition };
  }
  if (suspended) return { ...target, state: "suspended" };
  const condition = current.find(isGivenUp);
  return condition && { ...target, state: "stalled", condition };
}

/** The runtime has stopped trying: after too many crashes, or because the manager said so. */
function isGivenUp({ type, status, reason }: ManagedResourceCondition): boolean {
  if (type === RUNTIME_CONDITIONS.stalled) return status === true;
  return type === RUNTIME_CONDITIONS.reconciled && status === false && reason === TERMINAL_ERROR;
}

function why({ resource }: Entry, goal: WaitGoal): string {
  if (!resource) return "was not seen";
  const { metadata, conditions } = resource;
  if (goal === "deleted") {
    if (metadata.deletionTimestamp === undefined) return "its deletion was not asked for";
    return metadata.finalizers.length === 0
      ? "is being deleted"
      : `waits for finalizers: ${metadata.finalizers.join(", ")}`;
  }
  const condition = conditions.find(({ type }) => type === goal.condition);
  if (!condition) return `has no condition ${goal.condition} yet`;
  if (condition.observedGeneration !== metadata.generation) {
    return `${condition.type} is of generation ${condition.observedGeneration} of ${metadata.generation}`;
  }
  const message = condition.message === undefined ? "" : `: ${condition.message}`;
  return `${condition.type} is ${condition.status} (${condition.reason})${message}`;
}
