import { outputFlag, parseDeleteBound, SHOW_SECRETS, WAIT_TIMEOUT, YES } from "../flags.ts";
import type { Flag, Verb } from "../verb.ts";

const GROUP = "Specs:";
const LOADING = "What to load:";
const PRUNING = "Pruning:";

const LOAD_FLAGS: Flag[] = [
  {
    flags: "-f, --file <path...>",
    description: "spec file, folder, glob, or - for standard input; may be repeated",
    group: LOADING,
    complete: "file",
  },
  { flags: "-R, --recursive", description: "folders with all that is in them", group: LOADING },
  {
    flags: "--set <name>",
    description: 'the set that these specs belong to (default "default")',
    group: LOADING,
  },
  {
    flags: "--force",
    description: "take over resources that belong to another owner",
    group: LOADING,
  },
  {
    flags: "--prune",
    description: "delete what this set applied from under these paths and is no longer there",
    group: PRUNING,
  },
  { flags: "--allow-empty", description: "prune although no spec is left", group: PRUNING },
  {
    flags: "--max-deletes <bound>",
    description: "the largest prune that needs no confirmation: 20 or 25%",
    parse: parseDeleteBound,
    group: PRUNING,
  },
];

const INIT: Verb = {
  name: "init",
  group: GROUP,
  summary: "Write a working example into this folder",
  description:
    "Writes a resource manager that keeps the content of a text file, and two specs for it, under " +
    ".pi/. Refuses to overwrite a file.",
  examples: [
    { command: "pi-workflows init", does: "An example in the current folder" },
    { command: "pi-workflows -C ~/automation init", does: "The same in another one" },
  ],
  load: () => import("../commands/init.ts"),
};

const APPLY: Verb = {
  name: "apply",
  group: GROUP,
  summary: "Make the store equal to spec files",
  description:
    "Loads spec files, validates them, and stores what changed: each changed spec becomes a new " +
    "generation of its resource and is reconciled at once. Nothing of a file that is not valid is " +
    "stored. The project's workflows are taken along; one with problems is told, and keeps nothing " +
    "else from being stored. With MANAGER KEY SPEC it applies one spec that you write on the command " +
    "line and own yourself. Starts the server where none runs.",
  arguments: [
    { usage: "[manager]", description: "instead of -f: name of a manager", complete: "manager" },
    { usage: "[key]", description: "key of the resource", complete: "key" },
    { usage: "[spec]", description: "its spec: JSON, or @FILE" },
  ],
  flags: [
    ...LOAD_FLAGS,
    {
      flags: "--confirm-prune <hash>",
      description: "prune exactly the set that was held under this hash",
      group: PRUNING,
    },
    {
      flags: "--plan <id>",
      description: "apply only if this is still the plan that diff showed",
      group: "Applying:",
    },
    { flags: "--dry-run", description: "show the plan and stop", group: "Applying:" },
    {
      flags: "--on-error <policy>",
      description:
        "stop: store nothing where a file is not valid (default); continue: store the rest",
      choices: ["stop", "continue"],
      group: "Applying:",
    },
    { ...YES, group: "Applying:" },
    {
      flags: "--exit-code",
      description: "exit 1 where something changed, or would with --dry-run",
      group: "Applying:",
    },
    {
      flags: "--wait [for]",
      description: "wait for the resources: ready (default), deleted, or condition=TYPE[=STATUS]",
      group: "Waiting:",
    },
    WAIT_TIMEOUT,
    outputFlag("json"),
    SHOW_SECRETS,
  ],
  exitCodes: {
    1: "with --exit-code: something changed",
    2: "an error; resources named as failed are as they were before",
    3: "a guard held the prune, or a confirmation is needed",
    4: "--wait timed out",
  },
  examples: [
    {
      command: "pi-workflows apply -f .pi/resources --wait",
      does: "Apply a folder and wait until all is ready",
    },
    {
      command: "pi-workflows apply -R -f .pi/resources --prune",
      does: "The same with subfolders, and delete what is gone",
    },
    {
      command: `pi-workflows apply greeting mine '{"path": "/tmp/mine.txt", "text": "hi"}'`,
      does: "Apply one spec of your own",
    },
    { command: "generate-specs | pi-workflows apply -f -", does: "Apply what a program writes" },
  ],
  load: () => import("../commands/apply.ts"),
};

const DIFF: Verb = {
  name: "diff",
  group: GROUP,
  summary: "Show what apply would do",
  description:
    "Loads and validates the same files as apply, and shows the plan that apply would carry out. " +
    "Writes nothing and needs no server. The plan's id can be given to apply --plan. Without -f, where " +
    "sync is enabled, it shows what sync would do with the files as they are now.",
  flags: [
    ...LOAD_FLAGS,
    {
      flags: "--rev <revision>",
      description:
        "compare a commit with the store, or A..B with A, without a checkout; -f names folders",
      group: LOADING,
    },
    {
      flags: "-w, --watch",
      description: "go on showing the plan as files are saved",
      group: "Output:",
    },
    { flags: "--no-exit-code", description: "exit 0 although there are changes", group: "Output:" },
    outputFlag("fields", "unified", "json", "markdown"),
    SHOW_SECRETS,
  ],
  exitCodes: {
    0: "no changes",
    1: "changes",
    2: "an error",
    3: "changes, and a guard would hold the prune",
  },
  examples: [
    {
      command: "pi-workflows diff -f .pi/resources",
      does: "A table of what would change, and why",
    },
    {
      command: "pi-workflows diff -R -f .pi/resources --prune -o unified",
      does: "The text of every change, deletions too",
    },
    {
      command: "pi-workflows diff --rev main..feature",
      does: "What merging a branch would change",
    },
    { command: "pi-workflows diff -f .pi/resources -w", does: "A plan beside your editor" },
  ],
  load: () => import("../commands/diff.ts"),
};

export const SPEC_VERBS: Verb[] = [INIT, DIFF, APPLY];
