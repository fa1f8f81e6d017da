import { z } from "zod";
import type { Graph } from "../../model/graph.ts";
import { graphSchema } from "../../model/graph-schema.ts";
import type { WorkflowListings } from "../workflows/load.ts";
import { exactly } from "./exactly.ts";
import { count } from "./resource.ts";
import { problem } from "./sync.ts";

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

/** What verbs about workflows print with `-o json`. */
export const WORKFLOW_DOCUMENTS = {
  workflows: listings,
  "workflow-validate": listings,
  "workflow-graph": exactly<Graph>()(graphSchema),
};
