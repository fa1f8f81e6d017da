import { isConditionTrue, RUNTIME_CONDITIONS, TERMINAL_ERROR } from "../model/condition.ts";
import { readinessOf } from "../model/readiness.ts";
import type { ResourceSummary } from "../model/resource.ts";

/** How far a resource is, in the words of the status line. */
export type Standing = {
  state: "ready" | "reconciling" | "attention" | "suspended";
  /** One CamelCase word. */
  reason: string;
  message?: string;
  /** True where nothing happens until a person or the outside does something. */
  stuck: boolean;
};

/** Condition by which a manager says that it waits for a person; a convention of ours. */
const BLOCKED = "Blocked";

/**
 * How far a resource is. `queued` says whether a pass of it is to come: one that is not ready and
 * that nothing will look at needs a person's attention.
 */
export function standingOf(resource: ResourceSummary, queued: boolean): Standing {
  const { metadata, conditions } = resource;
  const readiness = readinessOf(resource);
  const { reason } = readiness;
  const told = readiness.message === undefined ? {} : { message: readiness.message };
  const holds = (type: string) =>
    conditions.find((found) => found.type === type && found.status === true);
  const fails = (type: string) =>
    conditions.find((found) => found.type === type && found.status === false);
  const parked = holds(RUNTIME_CONDITIONS.effectIndeterminate) ?? holds(RUNTIME_CONDITIONS.stalled);
  if (parked) return attention(parked, true);
  if (resource.suspended) return { state: "suspended", reason: "Suspended", stuck: true };
  if (readiness.ready === "True") return { state: "ready", reason, ...told, stuck: false };
  const blocked = isConditionTrue(conditions, BLOCKED, metadata.generation) && holds(BLOCKED);
  if (blocked) return attention(blocked, true);
  const failed = fails(RUNTIME_CONDITIONS.reconciled);
  if (failed) return attention(failed, failed.reason === TERMINAL_ERROR);
  const unsynced = fails(RUNTIME_CONDITIONS.synced);
  if (unsynced) return attention(unsynced, true);
  const seen = resource.observedGeneration >= metadata.generation;
  if (seen && !queued && metadata.deletionTimestamp === undefined) {
    return { state: "attention", reason, ...told, stuck: true };
  }
  return { state: "reconciling", reason, ...told, stuck: false };
}

function attention(because: { reason: string; message?: string }, stuck: boolean): Standing {
  const { reason, message } = because;
  return { state: "attention", reason, ...(message === undefined ? {} : { message }), stuck };
}

/** A resource and how far it is. */
export type Stood = { resource: ResourceSummary; standing: Standing };

/** `3 ready · 1 reconciling · 1 needs attention`; undefined where there is nothing. */
export function statusLine(all: readonly Stood[]): string | undefined {
  const count = (state: Standing["state"]) =>
    all.filter(({ standing }) => standing.state === state).length;
  const attention = count("attention");
  const parts: [number, string][] = [
    [count("ready"), "ready"],
    [count("reconciling"), "reconciling"],
    [attention, attention === 1 ? "needs attention" : "need attention"],
    [count("suspended"), "suspended"],
  ];
  const shown = parts.filter(([number]) => number > 0).map(([number, word]) => `${number} ${word}`);
  return shown.length === 0 ? undefined : shown.join(" · ");
}

const ORDER: readonly Standing["state"][] = ["attention", "reconciling", "suspended"];

/** What is not ready, what needs attention first; suspended ones are meant to be as they are. */
export function notReady(all: readonly Stood[]): Stood[] {
  return all
    .filter(({ standing }) => standing.state === "attention" || standing.state === "reconciling")
    .sort(
      (a, b) =>
        ORDER.indexOf(a.standing.state) - ORDER.indexOf(b.standing.state) || compareNames(a, b),
    );
}

function compareNames({ resource: a }: Stood, { resource: b }: Stood): number {
  const left = `${a.metadata.resourceManager} ${a.metadata.key}`;
  const right = `${b.metadata.resourceManager} ${b.metadata.key}`;
  return left < right ? -1 : Number(left > right);
}
