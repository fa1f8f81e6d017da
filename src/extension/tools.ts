import type { Pi, Tool } from "./pi.ts";
import { describeError } from "./errors.ts";
import { boundedText } from "./bounded.ts";
import { resourceAction } from "./resource-tool.ts";
import { runAction } from "./run-tool.ts";
import type { Session } from "./session.ts";
import type { Context } from "./pi.ts";

/** What one call of a tool is carried out with. */
export type ToolScene = { session: Session; ctx: Context; signal: AbortSignal | undefined };

export type Parameters = Record<string, unknown>;
export type ToolAction = (parameters: Parameters, scene: ToolScene) => Promise<string>;

const text = (description: string) => ({ type: "string", description });
const OFFSET = { type: "integer", minimum: 0, description: "Line to go on from in a long answer" };

/**
 * The two tools that the model has. Their schemas are flat objects, which every provider takes;
 * deletion, pruning and force are not in them.
 */
export const TOOLS: readonly (Omit<Tool, "execute"> & { run: ToolAction })[] = [
  {
    name: "resources",
    label: "Resources",
    description:
      "Resources of this project, kept by pi-workflows: durable specs that resource managers make true. " +
      "list: all, with readiness. get: one's spec and status. explain: why it is as it is. diff: what " +
      "apply would do. apply: store specs from a file or folder (path), or one spec (manager, key, " +
      "spec); the user is asked first. reconcile: look again now. To change a resource, edit its " +
      ".resource.json or .resource.ts file under .pi/resources and apply that file.",
    promptSnippet: "List, explain, diff and apply resources of pi-workflows",
    parameters: {
      type: "object",
      properties: {
        action: {
          type: "string",
          enum: ["list", "get", "explain", "diff", "apply", "reconcile"],
          description: "What to do",
        },
        manager: text("Resource manager; for list optional"),
        key: text("Key of the resource"),
        path: text("Spec file or folder, for diff and apply"),
        spec: text("For apply without path: the spec as JSON text"),
        not_ready: { type: "boolean", description: "For list: only what is not ready" },
        offset: OFFSET,
      },
      required: ["action"],
      additionalProperties: false,
    },
    run: resourceAction,
  },
  {
    name: "workflow_runs",
    label: "Workflow runs",
    description:
      "Runs of this project's workflows (.pi/workflows/NAME.workflow.ts): finite graphs that go on in the " +
      "background and survive crashes. start: begin a run. list: workflows and their runs. show: one " +
      "run's nodes, question and result. answer: answer the question of a run that waits, after the " +
      "user has agreed.",
    promptSnippet: "Start and inspect workflow runs of pi-workflows",
    parameters: {
      type: "object",
      properties: {
        action: {
          type: "string",
          enum: ["start", "list", "show", "answer"],
          description: "What to do",
        },
        workflow: text("Name of a workflow; for list optional"),
        run: text("Id of a run"),
        input: text("For start: the input as JSON text"),
        answer: text("For answer: the answer as JSON text"),
        node: text("For answer: the checkpoint, where several ask"),
        offset: OFFSET,
      },
      required: ["action"],
      additionalProperties: false,
    },
    run: runAction,
  },
];

/** Registers the tools; `sessionOf` gives the session that a call belongs to. */
export function registerTools(pi: Pi, sessionOf: (ctx: Context) => Session): void {
  for (const { run, ...tool } of TOOLS) {
    pi.registerTool({
      ...tool,
      async execute(...[, parameters, signal, , ctx]) {
        const offset = Number(parameters["offset"] ?? 0);
        let said: string;
        try {
          said = await run(parameters, { session: sessionOf(ctx), ctx, signal });
        } catch (thrown) {
          // Pi tells the model of what is thrown as of a failed call.
          throw new Error(boundedText(describeError(thrown), 0), { cause: thrown });
        }
        return { content: [{ type: "text", text: boundedText(said, offset) }], details: {} };
      },
    });
  }
}
