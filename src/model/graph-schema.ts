import { z } from "zod";
import {
  NODE_KINDS,
  SAFETIES,
  type Graph,
  type GraphEdge,
  type GraphNode,
  type Target,
} from "./graph.ts";
import { LIMITS } from "./limits.ts";
import { managerName } from "./manifest.ts";

const jsonSchema = z.record(z.string(), z.unknown());
const node = z
  .string()
  .min(1)
  .max(LIMITS.key)
  .describe("Path of a node: `review/run-tests` is of an include");
const duration = z.int().min(0).max(LIMITS.maxRequeueMs);

const target = z.strictObject({
  to: node,
  loop: z.strictObject({ max: z.int().min(1), exhausted: node }).exactOptional(),
}) satisfies z.ZodType<Target>;

const graphNode = z.strictObject({
  kind: z.enum(NODE_KINDS),
  safety: z.enum(SAFETIES),
  title: z.string().max(LIMITS.message).exactOptional(),
  deadlineMs: duration.exactOptional(),
  retry: z.strictObject({ times: z.int().min(0), delayMs: duration }).exactOptional(),
  cases: z.array(node).exactOptional(),
  compensates: z.literal(true).exactOptional(),
  outputSchema: jsonSchema.exactOptional(),
  tools: z.array(z.string().min(1).max(LIMITS.name)).exactOptional(),
  model: z.string().min(1).max(LIMITS.key).exactOptional(),
}) satisfies z.ZodType<GraphNode>;

const graphEdge = z.strictObject({
  next: target.exactOptional(),
  cases: z.record(node, target).exactOptional(),
  parallel: z.strictObject({ branches: z.array(node).min(1), join: node }).exactOptional(),
  failure: target.exactOptional(),
}) satisfies z.ZodType<GraphEdge>;

/** A graph as plain data, within the limits: what the server takes, and what is printed. */
export const graphSchema = z.strictObject({
  workflow: managerName,
  startAt: node,
  nodes: z.record(node, graphNode),
  edges: z.record(node, graphEdge),
}) satisfies z.ZodType<Graph>;
