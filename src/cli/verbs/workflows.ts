import { outputFlag } from "../flags.ts";
import type { Verb } from "../verb.ts";

const GROUP = "Workflows:";

const LIST: Verb = {
  name: "workflows",
  group: GROUP,
  summary: "List workflows, where each comes from and what is wrong with it",
  description:
    "Loads every NAME.workflow.ts in .pi/workflows/ and in ~/.pi/agent/workflows/, and lists them. One " +
    "of the project hides a global one of its name. Needs no server.",
  flags: [outputFlag("json")],
  examples: [
    { command: "pi-workflows workflows", does: "All workflows of this project" },
    { command: "pi-workflows workflows -o json", does: "For programs" },
  ],
  load: () => import("../commands/workflows.ts"),
};

const VALIDATE: Verb = {
  name: "validate",
  summary: "Check workflows: nodes, edges, loops, schemas",
  description:
    "Loads workflows and checks that they hold together: no node out of reach, no dead end, no loop " +
    "without a bound, no choice without an edge. Every problem is shown at its place. Needs no server.",
  arguments: [
    {
      usage: "[workflow...]",
      description: "names, or files wherever they lie; all workflows where none is named",
      complete: "workflow",
    },
  ],
  flags: [outputFlag("json")],
  exitCodes: { 2: "a workflow has problems" },
  examples: [
    { command: "pi-workflows workflow validate", does: "All workflows, for instance in CI" },
    {
      command: "pi-workflows workflow validate .pi/workflows/check-links.workflow.ts",
      does: "One file",
    },
  ],
  load: () => import("../commands/workflow-validate.ts"),
};

const GRAPH: Verb = {
  name: "graph",
  summary: "Draw a workflow's graph",
  description:
    "Draws the nodes of a workflow, those of included workflows too, and what follows each. Needs no " +
    "server.",
  arguments: [{ usage: "<workflow>", description: "name, or a file", complete: "workflow" }],
  flags: [
    {
      flags: "-o, --output <format>",
      description: "how to print: drawn for a terminal, as a Mermaid diagram, or as data",
      choices: ["text", "mermaid", "json"],
      group: "Output:",
    },
  ],
  examples: [
    { command: "pi-workflows workflow graph check-links", does: "Drawn in the terminal" },
    {
      command: "pi-workflows workflow graph check-links -o mermaid",
      does: "For a Markdown file",
    },
  ],
  load: () => import("../commands/workflow-graph.ts"),
};

const WORKFLOW: Verb = {
  name: "workflow",
  group: GROUP,
  summary: "Check and draw workflows",
  verbs: [VALIDATE, GRAPH],
};

export const WORKFLOW_VERBS: Verb[] = [LIST, WORKFLOW];
