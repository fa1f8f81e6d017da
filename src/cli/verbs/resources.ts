import {
  ALL_PROJECTS,
  ANY_KEY,
  ANY_MANAGER,
  KEY,
  MANAGER,
  outputFlag,
  parseLabel,
  SHOW_SECRETS,
  WAIT_TIMEOUT,
  YES,
} from "../flags.ts";
import type { Flag, Verb } from "../verb.ts";

const GROUP = "Resources:";

const WAIT_FOR: Flag = {
  flags: "--for <state>",
  description: "ready (default), deleted, or condition=TYPE[=STATUS]",
  group: "Waiting:",
};

const GET: Verb = {
  name: "get",
  group: GROUP,
  summary: "List resources, or show one",
  description:
    "Lists the resources of this project with their readiness. A resource is ready when its Ready " +
    "condition is true and was computed from the present spec. Needs no server.",
  arguments: [ANY_MANAGER, ANY_KEY],
  flags: [
    {
      flags: "-l, --label <name=value>",
      description: "only with this label; may be repeated",
      parse: parseLabel,
    },
    { flags: "--not-ready", description: "only those that are not ready" },
    ALL_PROJECTS,
    { flags: "-w, --watch", description: "go on printing what changes", group: "Output:" },
    outputFlag("wide", "json", "name"),
    SHOW_SECRETS,
  ],
  examples: [
    { command: "pi-workflows get", does: "Everything of this project" },
    { command: "pi-workflows get greeting hello -o json", does: "One resource, whole" },
    {
      command: "pi-workflows get -A --not-ready -o wide",
      does: "What needs attention, in all projects",
    },
  ],
  load: () => import("../commands/get.ts"),
};

const DESCRIBE: Verb = {
  name: "describe",
  group: GROUP,
  summary: "Show one resource with all that belongs to it",
  description:
    "Prints a resource's spec, status, conditions, origin, queue entry, effects, child workflows, " +
    "latest passes and events. Needs no server.",
  arguments: [MANAGER, KEY],
  flags: [outputFlag("json"), SHOW_SECRETS],
  examples: [
    { command: "pi-workflows describe greeting hello", does: "For people" },
    { command: "pi-workflows describe greeting hello -o json", does: "For programs" },
  ],
  load: () => import("../commands/describe.ts"),
};

const RESOURCE_MANAGERS: Verb = {
  name: "resource-managers",
  group: GROUP,
  summary: "List managers and the readiness of their resources",
  description:
    "Lists resources and their current readiness condition, manager by manager. Needs no server.",
  flags: [ALL_PROJECTS, outputFlag("json")],
  examples: [
    { command: "pi-workflows resource-managers", does: "All managers of this project" },
    {
      command: "pi-workflows resource-managers -A -o json",
      does: "Of every project, for programs",
    },
  ],
  load: () => import("../commands/resource-managers.ts"),
};

const RESOURCE_MANAGER: Verb = {
  ...DESCRIBE,
  name: "resource-manager",
  summary: "Show one resource with its effects, child workflows and events",
  description:
    "Prints one resource together with its effects, child workflows and recent events. The same as describe.",
  examples: [
    { command: "pi-workflows resource-manager greeting hello", does: "For people" },
    { command: "pi-workflows resource-manager greeting hello -o json", does: "For programs" },
  ],
};

const DELETE: Verb = {
  name: "delete",
  group: GROUP,
  summary: "Delete a resource",
  description:
    "Requests deletion. A resource with finalizers stays until its manager has cleaned up; one " +
    "without is gone at once. A spec file that still stands will make it anew when applied again.",
  arguments: [MANAGER, KEY],
  flags: [
    YES,
    {
      flags: "--force-finalizers",
      description: "remove it without cleaning up, and list what may be left behind",
    },
    { flags: "--wait", description: "wait until it is gone", group: "Waiting:" },
    WAIT_TIMEOUT,
    outputFlag("json"),
  ],
  exitCodes: { 3: "not confirmed", 4: "--wait timed out" },
  examples: [
    {
      command: "pi-workflows delete greeting hello --wait",
      does: "Delete, and wait for the clean-up",
    },
    {
      command: "pi-workflows delete greeting hello --yes --force-finalizers",
      does: "When its manager can't clean up any more",
    },
  ],
  load: () => import("../commands/delete.ts"),
};

const RECONCILE: Verb = {
  name: "reconcile",
  group: GROUP,
  summary: "Ask for a pass now",
  description: "Puts a resource, or all of a manager, into the queue as ready now.",
  arguments: [MANAGER, ANY_KEY],
  flags: [outputFlag("json")],
  examples: [
    { command: "pi-workflows reconcile greeting hello", does: "One resource" },
    { command: "pi-workflows reconcile greeting", does: "Every resource of a manager" },
  ],
  load: () => import("../commands/reconcile.ts"),
};

const WAIT: Verb = {
  name: "wait",
  group: GROUP,
  summary: "Wait until a resource is in a state",
  description:
    "Ready means that the condition Ready is true for the present generation. Starts the server " +
    "where none runs, since nothing would change without it.",
  arguments: [MANAGER, KEY],
  flags: [WAIT_FOR, WAIT_TIMEOUT, outputFlag("json")],
  exitCodes: { 1: "the state can't come any more", 4: "the wait timed out" },
  examples: [
    {
      command: "pi-workflows wait greeting hello --for ready --timeout 1m",
      does: "Until it is ready",
    },
    {
      command: "pi-workflows wait pull-request acme/widgets#42 --for condition=Merged",
      does: "Until a condition is true",
    },
  ],
  load: () => import("../commands/wait.ts"),
};

function pauseVerb(name: string, summary: string, description: string): Verb {
  return {
    name,
    group: GROUP,
    summary,
    description,
    arguments: [MANAGER, KEY],
    flags: [outputFlag("json")],
    examples: [
      { command: `pi-workflows ${name} greeting hello`, does: summary },
      { command: `pi-workflows ${name} greeting hello -o json`, does: "For programs" },
    ],
  };
}

const SUSPEND: Verb = {
  ...pauseVerb(
    "suspend",
    "Stop reconciling a resource",
    "Passes under way end; no further one begins until resume. Specs can still be applied.",
  ),
  load: () => import("../commands/suspend.ts"),
};

const RESUME: Verb = {
  ...pauseVerb(
    "resume",
    "Reconcile a suspended resource again",
    "Lifts suspend and asks for a pass now.",
  ),
  load: () => import("../commands/resume.ts"),
};

export const RESOURCE_VERBS: Verb[] = [
  GET,
  DESCRIBE,
  RESOURCE_MANAGERS,
  RESOURCE_MANAGER,
  DELETE,
  RECONCILE,
  WAIT,
  SUSPEND,
  RESUME,
];
