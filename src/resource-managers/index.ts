/** The public API for authors of resource managers and of TypeScript spec files. */
export type { Json } from "../model/canonical.ts";
export type { ConditionInput } from "../model/condition.ts";
export type { EffectObservation, EffectRecord } from "../model/effect.ts";
export type { ManagedResource, ManagedResourceCondition } from "../model/resource.ts";
export type { AppliedEffect, EffectCall, EffectRequest, ReconcileContext } from "./context.ts";
export { defineResource, defineResourceManager } from "./define.ts";
export type {
  DeclaredResource,
  ResourceInput,
  ResourceManager,
  ResourceManagerDefinition,
  ResourceSpecs,
  SchemaLike,
} from "./define.ts";
export {
  conditionFalse,
  conditionTrue,
  conditionUnknown,
  EffectRejected,
  TerminalError,
} from "./results.ts";
export type { EffectApplied, ReconcileResult, ResultPatch } from "./results.ts";
export { cron, every, files, watch, webhook } from "./sources.ts";
export type { Keys, Source, WatchedChange, WebhookRequest } from "./sources.ts";
