import { KEY, MANAGER, outputFlag, parseDeleteBound } from "../flags.ts";
import type { Verb } from "../verb.ts";

const GUARD = { 3: "a prune waits for its confirmation, or is blocked" };

const ENABLE: Verb = {
  name: "enable",
  summary: "Keep the store as this repository's specs say",
  description:
    "Consents that the specs and definitions of this repository run here, and keeps the store in " +
    "step from now on: with the newest commit of one branch, or with --working-tree with the files " +
    "as they are saved. Enabling again changes what is named.",
  flags: [
    {
      flags: "--branch <name>",
      description: "the branch that counts (default: the one checked out)",
    },
    {
      flags: "--root <dir...>",
      description: "folders that hold spec files (default .pi/resources)",
      complete: "directory",
    },
    { flags: "--working-tree", description: "sync files as they are saved, not commits" },
    { flags: "--no-prune", description: "never delete what is no longer declared" },
    {
      flags: "--max-deletes <bound>",
      description: "the largest prune that needs no confirmation: 20 or 25%",
      parse: parseDeleteBound,
    },
    {
      flags: "--worktree <name>",
      description: "name of this linked work tree, which syncs only when it is named",
    },
    outputFlag("json"),
  ],
  exitCodes: { 1: "enabled, but not in step yet", ...GUARD },
  examples: [
    { command: "pi-workflows sync enable", does: "Follow the branch that is checked out" },
    {
      command: "pi-workflows sync enable --branch main --root .pi/resources --root ops/specs",
      does: "Two folders of main, whatever is checked out",
    },
  ],
  load: () => import("../commands/sync-enable.ts"),
};

const STATUS: Verb = {
  name: "status",
  summary: "Show what is synced, and what is in the way",
  description:
    "Prints the set of this project: its source, the revisions looked at and applied, conditions, " +
    "problems with their places, drift, and a prune that waits. Needs no server.",
  flags: [
    { flags: "-A, --all-projects", description: "of every project, not just this one" },
    { flags: "-w, --watch", description: "go on showing what changes", group: "Output:" },
    outputFlag("json"),
  ],
  exitCodes: { 1: "not synced", ...GUARD },
  examples: [
    { command: "pi-workflows sync status", does: "Is it in step, and if not, why" },
    { command: "pi-workflows sync status -w", does: "Watch it" },
  ],
  load: () => import("../commands/sync-status.ts"),
};

const NOW: Verb = {
  name: "now",
  summary: "Sync at once and say what came of it",
  flags: [
    { flags: "--allow-empty", description: "prune although no spec is left" },
    outputFlag("json"),
  ],
  exitCodes: { 1: "not synced", ...GUARD },
  examples: [
    { command: "pi-workflows sync now", does: "Do not wait for an event" },
    { command: "pi-workflows sync now --allow-empty", does: "That all specs are gone is meant" },
  ],
  load: () => import("../commands/sync-now.ts"),
};

/** Syncs are turned on and off per project; these verbs act on the one of the working directory. */
export const SYNC: Verb = {
  name: "sync",
  group: "Specs:",
  summary: "Keep the store in step with committed specs",
  verbs: [
    ENABLE,
    {
      name: "disable",
      summary: "Stop syncing this project; its resources stay as they are",
      flags: [outputFlag("json")],
      examples: [
        { command: "pi-workflows sync disable", does: "This project" },
        { command: "pi-workflows -C ~/other sync disable", does: "Another one" },
      ],
      load: () => import("../commands/sync-disable.ts"),
    },
    STATUS,
    NOW,
    {
      name: "suspend",
      summary: "Plan and report, but apply nothing",
      flags: [outputFlag("json")],
      examples: [
        { command: "pi-workflows sync suspend", does: "Keep changes made by hand" },
        { command: "pi-workflows sync status", does: "Shows what resuming would do" },
      ],
      load: () => import("../commands/sync-suspend.ts"),
    },
    {
      name: "resume",
      summary: "Apply again",
      flags: [outputFlag("json")],
      examples: [
        { command: "pi-workflows sync resume", does: "And catch up at once" },
        { command: "pi-workflows sync resume && pi-workflows sync now", does: "And wait for it" },
      ],
      load: () => import("../commands/sync-resume.ts"),
    },
    {
      name: "confirm-prune",
      summary: "Delete exactly the resources that a held prune lists",
      arguments: [{ usage: "<hash>", description: "the hash that sync status shows" }],
      flags: [outputFlag("json")],
      exitCodes: { 3: "the hash is not of what waits now" },
      examples: [
        { command: "pi-workflows sync status", does: "Review the list and its hash" },
        { command: "pi-workflows sync confirm-prune 3f9a1c2b4d5e", does: "Delete that very set" },
      ],
      load: () => import("../commands/sync-confirm-prune.ts"),
    },
    {
      name: "prunes",
      summary: "List what syncs deleted, why, and who confirmed it",
      description: "Newest first. Needs no server.",
      flags: [outputFlag("json")],
      examples: [
        { command: "pi-workflows sync prunes", does: "What was deleted" },
        { command: "pi-workflows undelete greeting hello", does: "Bring one of them back" },
      ],
      load: () => import("../commands/sync-prunes.ts"),
    },
  ],
};

export const UNDELETE: Verb = {
  name: "undelete",
  group: "Resources:",
  summary: "Bring a deleted resource back with its last spec",
  description:
    "Makes the resource anew, with a new uid, for as long as history keeps it. It is protected from " +
    'being pruned until a spec file declares it with "prune": true.',
  arguments: [MANAGER, KEY],
  flags: [outputFlag("json")],
  examples: [
    { command: "pi-workflows undelete greeting hello", does: "After a prune that was not meant" },
    { command: "pi-workflows sync prunes", does: "What there is to bring back" },
  ],
  load: () => import("../commands/undelete.ts"),
};

export const BLAME: Verb = {
  name: "blame",
  group: "Explanations:",
  summary: "Name for each field of a spec the commit that last changed it",
  arguments: [MANAGER, KEY],
  flags: [
    {
      flags: "--show-secrets",
      description: "print secret fields as they are",
      group: "Output:",
    },
    outputFlag("json"),
  ],
  examples: [
    { command: "pi-workflows blame greeting hello", does: "Who set what, and when" },
    { command: "pi-workflows blame greeting hello -o json", does: "For programs" },
  ],
  load: () => import("../commands/blame.ts"),
};
