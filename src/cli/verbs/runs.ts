import { RUN_STATES } from "../../model/run.ts";
import { ALL_PROJECTS, outputFlag, parseCount, SHOW_SECRETS } from "../flags.ts";
import { parseDuration } from "../time.ts";
import type { Argument, Flag, Verb } from "../verb.ts";

const GROUP = "Workflows:";

const RUN_ID: Argument = {
  usage: "<run>",
  description: "id of a run, or a beginning or end of it",
  complete: "run",
};

const WAIT_EXITS = {
  1: "the run failed",
  3: "it waits for a person; the output says for what",
  4: "the wait timed out; the run goes on",
};

const TIMEOUT: Flag = {
  flags: "--timeout <duration>",
  description: "wait no longer than this: 30s, 5m, 1h; the run goes on",
  parse: parseDuration,
  group: "Waiting:",
};

const START: Verb = {
  name: "start",
  summary: "Start a run of a workflow",
  description:
    "Loads NAME.workflow.ts as it is on disk, checks the input, and starts a run, which keeps that " +
    "code to its end. The server runs it, also when this command has ended.",
  arguments: [{ usage: "<workflow>", description: "name of a workflow", complete: "workflow" }],
  flags: [
    {
      flags: "-i, --input <json>",
      description: "what the workflow takes: JSON, @FILE, or - for standard input (default {})",
    },
    {
      flags: "--request-key <key>",
      description: "names the request: given again, it finds the run that it started before",
    },
    {
      flags: "--session <id>",
      description: "the Pi session that is asked its questions; the extension gives it",
      hidden: true,
    },
    {
      flags: "-w, --wait",
      description: "show what it does until it has ended or asks something",
      group: "Waiting:",
    },
    { ...TIMEOUT, description: `${TIMEOUT.description}; means --wait` },
    outputFlag("json"),
  ],
  exitCodes: WAIT_EXITS,
  examples: [
    {
      command: `pi-workflows run start check-links --input '{"url": "https://example.org"}' --wait`,
      does: "See it through",
    },
    {
      command:
        "pi-workflows run start nightly --input @night.json --request-key 2026-12-01 -o json",
      does: "From a script that may be run twice",
    },
  ],
  load: () => import("../commands/run-start.ts"),
};

const WAIT: Verb = {
  name: "wait",
  summary: "Show what a run does until it has ended",
  description:
    "Prints a line for each node that ends, until the run has ended or waits for a person. Ctrl-C " +
    "leaves the run alone. Starts the server where none runs.",
  arguments: [RUN_ID],
  flags: [TIMEOUT, outputFlag("json")],
  exitCodes: WAIT_EXITS,
  examples: [
    { command: "pi-workflows run wait 1f2e3d4c", does: "Until it ends or asks something" },
    { command: "pi-workflows run wait 1f2e3d4c --timeout 10m -o json", does: "In a script" },
  ],
  load: () => import("../commands/run-wait.ts"),
};

const SHOW: Verb = {
  name: "show",
  summary: "Show one run: its nodes, questions, result, and what to do",
  description:
    "Prints each node that a run came to, with its attempts and errors, what it asks or waits for, and " +
    "the command that helps. Needs no server.",
  arguments: [RUN_ID],
  flags: [
    {
      flags: "--inputs",
      description: "with the inputs of the run and its nodes",
      group: "Output:",
    },
    { flags: "--outputs", description: "with the outputs of its nodes", group: "Output:" },
    outputFlag("json"),
    SHOW_SECRETS,
  ],
  examples: [
    { command: "pi-workflows run show 1f2e3d4c", does: "Where it stands" },
    {
      command: "pi-workflows run show 1f2e3d4c --outputs -o json",
      does: "All of it, for programs",
    },
  ],
  load: () => import("../commands/run-show.ts"),
};

const LOGS: Verb = {
  name: "logs",
  summary: "Print what a run's commands, agents and functions said",
  description:
    "Prints the log of a run, each line after its node. With -o json one document on each line. Needs " +
    "no server.",
  arguments: [RUN_ID],
  flags: [
    { flags: "-f, --follow", description: "go on printing until the run has ended" },
    { flags: "-n, --node <node>", description: "only of this node, or of an include's nodes" },
    outputFlag("json"),
  ],
  examples: [
    { command: "pi-workflows run logs 1f2e3d4c -f", does: "Watch it" },
    { command: "pi-workflows run logs 1f2e3d4c --node tests", does: "What one node said" },
  ],
  load: () => import("../commands/run-logs.ts"),
};

const ANSWER: Verb = {
  name: "answer",
  summary: "Answer what a run asks",
  description:
    "Answers the checkpoint that a run waits at. The first answer counts. Where the answer is a yes or " +
    "no, one of a few words, or a text, it may be typed as such; else it is JSON. On a terminal it is " +
    "asked for where it is not given.",
  arguments: [
    RUN_ID,
    { usage: "[answer]", description: "a word, JSON, @FILE, or - for standard input" },
  ],
  flags: [
    {
      flags: "-n, --node <node>",
      description: "the checkpoint; needed where several are open, or before it is reached",
    },
    outputFlag("json"),
  ],
  examples: [
    { command: "pi-workflows run answer 1f2e3d4c yes", does: "To a question for yes or no" },
    {
      command: `pi-workflows run answer 1f2e3d4c '{"ok": false, "why": "too early"}' --node release`,
      does: "As JSON, to one of several",
    },
  ],
  load: () => import("../commands/run-answer.ts"),
};

const RESOLVE: Verb = {
  name: "resolve",
  summary: "Say how a node ended that can't be told",
  description:
    "Settles an attempt that was cut short and must not be made twice, after you have looked for " +
    "yourself. The run goes on from there.",
  arguments: [RUN_ID],
  flags: [
    { flags: "--succeeded", description: "it was done" },
    {
      flags: "--value <json>",
      description: "what it handed over: JSON, @FILE, or -; with --succeeded",
    },
    { flags: "--failed <message>", description: "it was not done, and that is a failure" },
    { flags: "--retry", description: "it was not done: make it again" },
    {
      flags: "--visit <number>",
      description: "which, where several can't be told; run show -o json has the numbers",
      parse: parseCount,
    },
    outputFlag("json"),
  ],
  examples: [
    { command: "pi-workflows run resolve 1f2e3d4c --succeeded", does: "You saw that it was done" },
    {
      command: "pi-workflows run resolve 1f2e3d4c --retry",
      does: "You saw that it was not, and want it",
    },
  ],
  load: () => import("../commands/run-resolve.ts"),
};

function changeVerb(
  name: string,
  summary: string,
  description: string,
  load: NonNullable<Verb["load"]>,
): Verb {
  return {
    name,
    summary,
    description,
    arguments: [RUN_ID],
    flags: [outputFlag("json")],
    examples: [
      { command: `pi-workflows run ${name} 1f2e3d4c`, does: summary },
      { command: `pi-workflows run ${name} 1f2e3d4c -o json`, does: "For programs" },
    ],
    load,
  };
}

const RUN: Verb = {
  name: "run",
  group: GROUP,
  summary: "Start, look at and steer runs of workflows",
  description:
    "A run is one execution of a workflow. It keeps the code with which it began, and goes on after a " +
    "crash or a restart where it was. A run is named by its id, or by any beginning or end of it that " +
    "no other run has.",
  verbs: [
    START,
    WAIT,
    SHOW,
    LOGS,
    ANSWER,
    RESOLVE,
    changeVerb(
      "pause",
      "Keep a run from going on",
      "The nodes that run now end; no further one begins until resume.",
      () => import("../commands/run-pause.ts"),
    ),
    changeVerb(
      "resume",
      "Let a run go on",
      "Lifts a pause, revives a run that stalled, and lets one whose workflow has changed go on with " +
        "the code that it began with.",
      () => import("../commands/run-resume.ts"),
    ),
    changeVerb(
      "cancel",
      "Call a run off",
      "Stops what runs, undoes what declares how it is undone, the latest first, and ends the run as " +
        "failed.",
      () => import("../commands/run-cancel.ts"),
    ),
    changeVerb(
      "retry",
      "Run the same again",
      "Starts a new attempt of a run that failed, from its beginning, with the same input and today's " +
        "code.",
      () => import("../commands/run-retry.ts"),
    ),
  ],
};

const RUNS: Verb = {
  name: "runs",
  group: GROUP,
  summary: "List runs of workflows",
  description: "Lists the latest runs of this project, newest first. Needs no server.",
  flags: [
    { flags: "--state <state>", description: "only in this state", choices: RUN_STATES },
    {
      flags: "--workflow <name>",
      description: "only of this workflow",
      complete: "workflow",
    },
    { flags: "--open", description: "only those that have not ended" },
    { flags: "--all", description: "all of them, not only the latest 50" },
    ALL_PROJECTS,
    { flags: "-w, --watch", description: "go on printing what changes", group: "Output:" },
    outputFlag("wide", "json"),
  ],
  examples: [
    { command: "pi-workflows runs --open -w", does: "Watch what goes on" },
    {
      command: "pi-workflows runs --state waiting -A -o wide",
      does: "What waits for a person, in all projects",
    },
  ],
  load: () => import("../commands/runs.ts"),
};

export const RUN_VERBS: Verb[] = [RUN, RUNS];
