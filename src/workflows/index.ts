/** The public API for authors of workflows. */
export type { Json } from "../model/canonical.ts";
export type { Duration } from "../model/duration.ts";
export type { Safety } from "../model/graph.ts";
export type { NodeError } from "../model/run.ts";
export type { AppliedEffect, EffectRequest } from "../resource-managers/context.ts";
export { EffectRejected, TerminalError } from "../resource-managers/results.ts";
export type { CompensationContext, NodeContext, PureContext } from "./context.ts";
export { defineWorkflow, includeWorkflow } from "./define.ts";
export type { Include, Workflow, WorkflowDefinition } from "./define.ts";
export { end, loop, parallel } from "./edges.ts";
export type { End, Loop, Parallel } from "./edges.ts";
export { action, agent, checkpoint, compute, decision, shell } from "./nodes.ts";
export type {
  ActionOptions,
  AgentOptions,
  CheckpointOptions,
  ComputeOptions,
  DecisionNode,
  DecisionOptions,
  ShellOptions,
  ShellResult,
  WorkflowNode,
} from "./nodes.ts";
