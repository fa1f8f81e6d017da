import type { ResolvedManager } from "./manifest.ts";
import type { Origin, Owner } from "./resource.ts";

/** An accepted definition; `lane` names its queue. */
export type ManagerRecord = ResolvedManager & { lane: number; project: string; acceptedAt: number };

/** A definition as a client proposes it: the server hashes the inputs again before it accepts. */
export type ManagerProposal = ResolvedManager & {
  /** The bundle's text. A runner executes exactly this. */
  bundle: string;
  /** Where it was read, if not from the disk: its inputs in the project are blobs of this commit. */
  revision?: { gitDir: string; commit: string };
};

/** What one transaction changes. */
export type ApplyBatch = {
  project: string;
  changes: ApplyChange[];
};

/** One change of a batch. `expected` is the resource version the plan saw; 0 means none (G-3). */
export type ApplyChange =
  | { kind: "create"; manager: string; key: string; write: SpecWrite; expected: 0 }
  | { kind: "update" | "move"; manager: string; key: string; write: SpecWrite; expected: number }
  | { kind: "prune"; manager: string; key: string; expected: number; origin: Origin };

/** A resource as one generation writes it. */
export type SpecWrite = {
  /** Canonical JSON. */
  spec: string;
  specHash: string;
  /** Canonical JSON; used where the resource is new. */
  initialStatus: string;
  labels: Record<string, string>;
  dependsOn: string[];
  prunable: boolean;
  suspended: boolean;
  origin: Origin;
};

/** What a batch came to, in the order of its changes. */
export type BatchReceipt = {
  revision: number;
  items: {
    manager: string;
    key: string;
    uid: string;
    generation: number;
    resourceVersion: number;
    removed: boolean;
  }[];
};

/** What a plan needs of a project: every live resource without its bodies. */
export type Snapshot = {
  revision: number;
  resources: SnapshotEntry[];
};
/** One resource of a snapshot. */
export type SnapshotEntry = {
  uid: string;
  manager: string;
  key: string;
  resourceVersion: number;
  generation: number;
  specHash: string;
  labels: Record<string, string>;
  dependsOn: string[];
  owner: Owner;
  file?: string;
  prunable: boolean;
  suspended: boolean;
  deleting: boolean;
};
