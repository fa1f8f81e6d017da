import type { JsonSchema } from "./manifest.ts";

/** What a node does. `include` and `exit` stand where another workflow begins and ends; `result` ends the run. */
export const NODE_KINDS = [
  "compute",
  "action",
  "shell",
  "agent",
  "decision",
  "checkpoint",
  "include",
  "exit",
  "result",
] as const;
export type NodeKind = (typeof NODE_KINDS)[number];

/**
 * What may be done with an attempt whose end nobody saw. `pure` and `idempotent` are run again;
 * `manual` is ambiguous and waits for a person (specification, "Child workflows").
 */
export const SAFETIES = ["pure", "idempotent", "manual"] as const;
export type Safety = (typeof SAFETIES)[number];

/** One node of a flat graph: all that can be said of it without its functions. */
export type GraphNode = {
  kind: NodeKind;
  safety: Safety;
  title?: string;
  /** One attempt may last this long. Milliseconds. */
  deadlineMs?: number;
  /** Attempts beyond the first after a failure, and the delay before the first of them. */
  retry?: { times: number; delayMs: number };
  /** The choices of a decision, the exits of an include. */
  cases?: string[];
  /** True where the node declares how it is undone: in reverse order, when the run is called off. */
  compensates?: true;
  /** Of what it hands over; for a checkpoint, of its answer. */
  outputSchema?: JsonSchema;
  /** An agent's tools, and its model where it asks for one. */
  tools?: string[];
  model?: string;
};

/** Where an edge leads: a node; one of them again, at most `max` times, and then elsewhere. */
export type Target = { to: string; loop?: { max: number; exhausted: string } };

/** What follows a node. All names are paths in the flat graph: `review/run-tests`. */
export type GraphEdge = {
  next?: Target;
  cases?: Record<string, Target>;
  /** Branches that run side by side; the node `join` begins when all have arrived. */
  parallel?: { branches: string[]; join: string };
  /** Where a failed node leads, its attempts being used up; absent: the run fails. */
  failure?: Target;
};

/**
 * A workflow as plain data, with what it includes expanded in place: the nodes of an included
 * workflow carry its name and a slash. What the step function walks, and what is drawn.
 */
export type Graph = {
  workflow: string;
  startAt: string;
  nodes: Record<string, GraphNode>;
  edges: Record<string, GraphEdge>;
};

/** A workflow definition as plain data: what the server needs to know of it without running it. */
export type ResolvedWorkflow = {
  name: string;
  /** Absolute path of the definition file. */
  path: string;
  scope: "project" | "global";
  /** SHA-256 over the bundle and every local file that went in. */
  digest: string;
  inputs: { path: string; sha256: string }[];
  inputSchema?: JsonSchema;
  outputSchema?: JsonSchema;
  /** Field paths of the input that the schema marks secret. */
  secretPaths: string[];
  /** A run must end within this. Milliseconds. */
  deadlineMs: number;
  graph: Graph;
};

/** A workflow as a client proposes it; the bundle is exactly what will run. */
export type WorkflowProposal = ResolvedWorkflow & {
  bundle: string;
  revision?: { gitDir: string; commit: string };
};

/** An accepted workflow; `lane` names the queue of its runs. */
export type WorkflowRecord = ResolvedWorkflow & {
  lane: number;
  project: string;
  acceptedAt: number;
};

/** The name of a workflow's lane, which no resource manager can have. */
export function workflowLane(workflow: string): string {
  return `${WORKFLOW_LANE}${workflow}`;
}

/** True for the name of a workflow's lane, whose resources are runs. */
export function isWorkflowLane(manager: string): boolean {
  return manager.startsWith(WORKFLOW_LANE);
}

const WORKFLOW_LANE = "workflow/";
