import type { Verb } from "../verb.ts";

const GROUP = "Editing:";

const TYPES: Verb = {
  name: "types",
  group: GROUP,
  summary: "Write TypeScript types of every known manager's spec",
  description:
    'Writes one .d.ts, by default .pi/resource-specs.d.ts. With it, defineResource("NAME", …) ' +
    "checks the spec of a file that does not import the manager.",
  flags: [
    {
      flags: "--out <file>",
      description: "where to write; - for standard output",
      complete: "file",
    },
    { flags: "--check", description: "write nothing; exit 1 where the file is out of date" },
  ],
  exitCodes: { 1: "with --check: out of date" },
  examples: [
    { command: "pi-workflows types", does: "Write .pi/resource-specs.d.ts" },
    { command: "pi-workflows types --check", does: "In CI" },
  ],
  load: () => import("../commands/types.ts"),
};

const SCHEMA: Verb = {
  name: "schema",
  group: GROUP,
  summary: "Write JSON Schemas so that editors complete .resource.json files",
  description:
    "Writes .pi/schemas/NAME.json for every known manager, and .pi/schemas/resource.json for any of " +
    "them. A spec file refers to it by its first member, $schema.",
  flags: [{ flags: "--check", description: "write nothing; exit 1 where a file is out of date" }],
  exitCodes: { 1: "with --check: out of date" },
  examples: [
    { command: "pi-workflows schema", does: "Write .pi/schemas/" },
    { command: "pi-workflows schema --check", does: "In CI" },
  ],
  load: () => import("../commands/schema.ts"),
};

const COMPLETION: Verb = {
  name: "completion",
  group: GROUP,
  summary: "Print a completion script for your shell",
  description:
    "Prints a script that completes verbs, flags, managers and keys. Managers and keys are read from " +
    "the database when you press Tab.",
  arguments: [{ usage: "<shell>", description: "which shell", choices: ["bash", "zsh", "fish"] }],
  examples: [
    { command: 'eval "$(pi-workflows completion bash)"', does: "In ~/.bashrc" },
    { command: 'eval "$(pi-workflows completion zsh)"', does: "In ~/.zshrc, after compinit" },
    { command: "pi-workflows completion fish | source", does: "In ~/.config/fish/config.fish" },
  ],
  load: () => import("../commands/completion.ts"),
};

const COMPLETE: Verb = {
  name: "__complete",
  hidden: true,
  summary: "Print candidates for a completion script",
  description:
    "Prints candidates for the last word, one a line; :file and :directory leave it to the shell.",
  arguments: [
    { usage: "[words...]", description: "the words after pi-workflows, up to the cursor" },
  ],
  load: () => import("../commands/complete.ts"),
};

export const AUTHORING_VERBS: Verb[] = [TYPES, SCHEMA, COMPLETION, COMPLETE];
