import { z } from "zod";
import {
  NODE_KINDS,
  SAFETIES,
  type Graph,
  type GraphEdge,
  type GraphNode,
  type Target,
} from "../../model/graph.ts";
import type { WorkflowListings } from "../workflows/load.ts";
import { exactly } from "./exactly.ts";
import { count } from "./resource.ts";
import { problem } from "./sync.ts";

const jsonSchema = z.record(z.string(), z.unknown()).describe("A JSON Schema");

const listings = exactly<WorkflowListings>()(
  z.strictObject({
    workflows: z.array(
      z.strictObject({
        name: z.string(),
        scope: z.enum(["project", "global"]),
        path: z.string().describe("Of its file"),
        shadowed: z.boolean().describe("True where one of the project is taken instead"),
        nodes: count.exactOptional().describe("With those of included workflows; absent where it has problems"),
        deadlineMs: count.exactOptional(),
        problems: z.array(problem),
      }),
    ),
    problems: z.array(problem).describe("Those that belong to none of the files"),
  }),
);

const target = exactly<Target>()(
  z
    .strictObject({
      to: z.string().describe("Path of a node"),
      loop: z.strictObject({ max: count, exhausted: z.string() }).exactOptional(),
    })
    .meta({ id: "GraphTarget" }),
);

const node = exactly<GraphNode>()(
  z
    .strictObject({
      kind: z.enum(NODE_KINDS),
      safety: z.enum(SAFETIES),
      title: z.string().exactOptional(),
      deadlineMs: count.exactOptional(),
      retry: z.strictObject({ times: count, delayMs: count }).exactOptional(),
      cases: z.array(z.string()).exactOptional(),
      compensates: z.literal(true).exactOptional(),
      outputSchema: jsonSchema.exactOptional(),
      tools: z.array(z.string()).exactOptional(),
      model: z.string().exactOptional(),
    })
    .meta({ id: "GraphNode" }),
);

const edge = exactly<GraphEdge>()(
  z
    .strictObject({
      next: target.exactOptional(),
      cases: z.record(z.string(), target).exactOptional(),
      parallel: z.strictObject({ branches: z.array(z.string()), join: z.string() }).exactOptional(),
      failure: target.exactOptional(),
    })
    .meta({ id: "GraphEdge" }),
);

const graph = exactly<Graph>()(
  z.strictObject({
    workflow: z.string(),
    startAt: z.string(),
    nodes: z.record(z.string(), node).describe("By path: review/run-tests is of an include"),
    edges: z.record(z.string(), edge),
  }),
);

/** What verbs about workflows print with `-o json`. */
export const WORKFLOW_DOCUMENTS = {
  workflows: listings,
  "workflow-validate": listings,
  "workflow-graph": graph,
};
