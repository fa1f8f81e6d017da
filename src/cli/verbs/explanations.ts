import {
  ALL_PROJECTS,
  ANY_KEY,
  ANY_MANAGER,
  KEY,
  MANAGER,
  outputFlag,
  parseCount,
  SHOW_SECRETS,
} from "../flags.ts";
import type { Verb } from "../verb.ts";

const GROUP = "Explanations:";

const WHY: Verb = {
  name: "why",
  group: GROUP,
  summary: "Say why a resource is as it is",
  description:
    "Prints the chain of causes with times: file and commit, generation, queue entry, pass, effect, " +
    "condition; and what it waits for now. Needs no server.",
  arguments: [MANAGER, KEY],
  flags: [outputFlag("json")],
  examples: [
    { command: "pi-workflows why greeting hello", does: "For people" },
    { command: "pi-workflows why pull-request acme/widgets#42 -o json", does: "For programs" },
  ],
  load: () => import("../commands/why.ts"),
};

const EVENTS: Verb = {
  name: "events",
  group: GROUP,
  summary: "Show what happened",
  description: "Prints events, oldest first. Needs no server.",
  arguments: [ANY_MANAGER, ANY_KEY],
  flags: [
    { flags: "--for <manager/key>", description: "only of this resource" },
    {
      flags: "--limit <count>",
      description: "at most so many, the latest (default 100)",
      parse: parseCount,
    },
    ALL_PROJECTS,
    { flags: "-f, --follow", description: "go on printing what happens", group: "Output:" },
    outputFlag("json"),
  ],
  examples: [
    { command: "pi-workflows events -f", does: "Watch this project" },
    {
      command: "pi-workflows events greeting hello --limit 20",
      does: "The latest of one resource",
    },
  ],
  load: () => import("../commands/events.ts"),
};

const HISTORY: Verb = {
  name: "history",
  group: GROUP,
  summary: "Show the generations of a resource's spec",
  description:
    "Prints each generation with the file, commit or command it came from. Needs no server.",
  arguments: [MANAGER, KEY],
  flags: [
    {
      flags: "--diff",
      description: "with the fields that each generation changed",
      group: "Output:",
    },
    outputFlag("json"),
    SHOW_SECRETS,
  ],
  examples: [
    { command: "pi-workflows history greeting hello", does: "Where each spec came from" },
    { command: "pi-workflows history greeting hello --diff", does: "And what it changed" },
  ],
  load: () => import("../commands/history.ts"),
};

const EFFECTS: Verb = {
  name: "effects",
  group: GROUP,
  summary: "List external effects",
  description:
    "Prints the ledger of effects: what was asked of the outside world, and how it ended. Needs no server.",
  arguments: [ANY_MANAGER, ANY_KEY],
  flags: [
    { flags: "--open", description: "only those that are not settled" },
    ALL_PROJECTS,
    outputFlag("json"),
  ],
  examples: [
    { command: "pi-workflows effects --open", does: "What is under way or can't be told" },
    { command: "pi-workflows effects greeting hello", does: "Of one resource" },
  ],
  load: () => import("../commands/effects.ts"),
};

const EFFECT: Verb = {
  name: "effect",
  group: GROUP,
  summary: "Settle an effect by hand",
  verbs: [
    {
      name: "resolve",
      summary: "Say how an effect ended that can't be told",
      description:
        "Settles an effect that is parked as indeterminate, after you have looked for yourself, and " +
        "reconciles its resource.",
      arguments: [
        MANAGER,
        KEY,
        { usage: "<effect>", description: "key of the effect", complete: "effect" },
      ],
      flags: [
        { flags: "--applied", description: "it happened" },
        {
          flags: "--ref <name>",
          description: "what the provider calls the result, such as a commit",
        },
        { flags: "--not-applied", description: "it did not happen, and will not be tried again" },
        { flags: "--reason <text>", description: "why; needed with --not-applied" },
        outputFlag("json"),
      ],
      examples: [
        {
          command:
            "pi-workflows effect resolve pull-request acme/widgets#42 merge:3:1f2e --applied --ref 9c0d1e2",
          does: "You saw that it was merged",
        },
        {
          command: `pi-workflows effect resolve pull-request acme/widgets#42 merge:3:1f2e --not-applied --reason "closed by hand"`,
          does: "You saw that it was not",
        },
      ],
      load: () => import("../commands/effect-resolve.ts"),
    },
  ],
};

export const EXPLANATION_VERBS: Verb[] = [WHY, EVENTS, HISTORY, EFFECTS, EFFECT];
