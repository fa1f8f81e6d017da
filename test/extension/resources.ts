import type { Condition } from "../../src/model/condition.ts";
import type { ResourceSummary } from "../../src/model/resource.ts";

export type Made = {
  ready?: boolean;
  reason?: string;
  message?: string;
  conditions?: Partial<Condition>[];
  generation?: number;
  observed?: number;
  suspended?: boolean;
  deleting?: boolean;
};

/** A resource of the manager `greeting` as lists know it. */
export function summary(key: string, made: Made = {}): ResourceSummary {
  const { ready, reason = ready ? "Written" : "Pending", message, generation = 1 } = made;
  const observed = made.observed ?? (ready === undefined ? 0 : generation);
  const readiness =
    ready === undefined
      ? []
      : [{ type: "Ready", status: ready, reason, ...(message ? { message } : {}) }];
  return {
    project: "/p",
    specHash: "",
    labels: {},
    dependsOn: [],
    owner: { kind: "apply", name: "default" },
    origin: { owner: { kind: "apply", name: "default" } },
    prunable: true,
    suspended: made.suspended ?? false,
    createdAt: 0,
    updatedAt: 0,
    metadata: {
      uid: `uid-${key}`,
      resourceManager: "greeting",
      key,
      resourceVersion: 1,
      generation,
      finalizers: [],
      ...(made.deleting ? { deletionTimestamp: "2026-01-01T00:00:00.000Z" } : {}),
    },
    observedGeneration: observed,
    conditions: [...readiness, ...(made.conditions ?? [])].map(
      (condition) =>
        ({
          status: true,
          reason: "Because",
          observedGeneration: observed,
          lastTransitionTime: "2026-01-01T00:00:00.000Z",
          ...condition,
        }) as Condition,
    ),
  };
}
