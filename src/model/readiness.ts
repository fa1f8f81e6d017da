import { RUNTIME_CONDITIONS, type Condition } from "./condition.ts";
import type { ResourceSummary } from "./resource.ts";

/** What lists say of a resource's state. */
export type Readiness = {
  ready: "True" | "False" | "Unknown";
  /** One CamelCase word. */
  reason: string;
  message?: string;
};

/** Whether a resource is ready, from its conditions; one that is outdated proves nothing (G-10). */
export function readinessOf(resource: ResourceSummary): Readiness {
  const { metadata, conditions } = resource;
  if (metadata.deletionTimestamp !== undefined) {
    return { ready: "False", reason: "Deleting", message: waitsFor(metadata.finalizers) };
  }
  const ready = conditions.find((condition) => condition.type === "Ready");
  const current = ready !== undefined && ready.observedGeneration === metadata.generation;
  const word = current ? wordOf(ready.status) : "Unknown";
  if (resource.suspended) return { ready: word, reason: "Suspended" };
  const trouble = troubleOf(conditions);
  if (trouble && word !== "True") return explained(word, trouble);
  if (current) return explained(word, ready);
  if (ready) {
    const message = `computed from generation ${ready.observedGeneration}`;
    return { ready: word, reason: "Outdated", message };
  }
  const seen = resource.observedGeneration === metadata.generation;
  return seen ? { ready: word, reason: "NotReported" } : { ready: word, reason: "Pending" };
}

function troubleOf(conditions: readonly Condition[]): Condition | undefined {
  const find = (type: string, status: boolean) =>
    conditions.find((condition) => condition.type === type && condition.status === status);
  return (
    find(RUNTIME_CONDITIONS.effectIndeterminate, true) ??
    find(RUNTIME_CONDITIONS.stalled, true) ??
    find(RUNTIME_CONDITIONS.reconciled, false)
  );
}

function explained(ready: Readiness["ready"], condition: Condition): Readiness {
  const { reason, message } = condition;
  return message === undefined ? { ready, reason } : { ready, reason, message };
}

function waitsFor(finalizers: readonly string[]): string {
  return finalizers.length === 0 ? "" : `waits for ${finalizers.join(", ")}`;
}

/** A condition's status as people read it. */
export function wordOf(status: Condition["status"]): Readiness["ready"] {
  if (status === "unknown") return "Unknown";
  return status ? "True" : "False";
}
