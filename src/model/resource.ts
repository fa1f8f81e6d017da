import type { Condition } from "./condition.ts";

/**
 * The durable record of one requested outcome, as resource managers see it.
 * Callers own `spec`; the resource manager owns `status`.
 * Source: spec/resource-managers.md, "Resource model".
 */
export type ManagedResource<TSpec = unknown, TStatus = unknown> = {
  metadata: {
    /** Stable for the life of the resource, never reused. */
    uid: string;
    resourceManager: string;
    key: string;
    /** Changes after every write; the compare-and-swap token. */
    resourceVersion: number;
    /** Changes only when `spec` (or the deletion mark) changes. */
    generation: number;
    /** ISO 8601 instant at which deletion was requested. */
    deletionTimestamp?: string;
    finalizers: string[];
  };
  spec: TSpec;
  status: {
    /** The generation that the present status was computed from. */
    observedGeneration: number;
    conditions: ManagedResourceCondition[];
    workflowRun?: WorkflowRunLink;
    resourceManagerStatus: TStatus;
  };
};

/** The latest known state of one stable condition type. */
export type ManagedResourceCondition = Condition;

/** The resource's current child run. */
export type WorkflowRunLink = {
  requestId: string;
  runId?: string;
  state: "pending" | "running" | "waiting" | "succeeded" | "failed" | "interrupted";
  attempt: number;
};

/** What names a resource: `project` is the canonical path of its repository. */
export type ResourceRef = { project: string; resourceManager: string; key: string };

/** Who a resource belongs to: only its owner may change or prune it without force. */
export type Owner = {
  kind: "sync" | "apply" | "person";
  /** The name of the sync set or apply set; for a person, their user name. */
  name: string;
};

/** Where one generation of a spec came from. */
export type Origin = {
  owner: Owner;
  /** Path relative to the project, with forward slashes. */
  file?: string;
  line?: number;
  /** Object id of the file's content in `commit`. */
  blob?: string;
  commit?: string;
  /** Of `commit`: `NAME <EMAIL>`, and the committer's time in epoch milliseconds. */
  author?: string;
  committedAt?: number;
  /** True where the working tree differed from `commit`. */
  dirty?: boolean;
  /** The command a person ran, e.g. `apply -f specs`. */
  command?: string;
};

/** What the store keeps of a resource beyond what its manager sees. */
export type StoredResource = {
  project: string;
  resource: ManagedResource;
  /** Fingerprint of the canonical spec; equal hashes mean equal specs. */
  specHash: string;
  labels: Record<string, string>;
  dependsOn: string[];
  owner: Owner;
  origin: Origin;
  /** False where `prune: false` protects it; lives in the store, so deleting the file does not lift it. */
  prunable: boolean;
  suspended: boolean;
  /** Epoch milliseconds, UTC. */
  createdAt: number;
  updatedAt: number;
};

/** A resource as lists and plans see it: all but the bodies of spec and status. */
export type ResourceSummary = Omit<StoredResource, "resource"> & {
  metadata: ManagedResource["metadata"];
  observedGeneration: number;
  conditions: ManagedResourceCondition[];
  /** Its current child run. */
  workflowRun?: WorkflowRunLink;
};

/** One line for people and logs: `pull-request acme/widgets#42`. */
export function describeRef(ref: { resourceManager: string; key: string }): string {
  return `${ref.resourceManager} ${ref.key}`;
}
