import { z } from "zod";
import { NODE_KINDS } from "../../model/graph.ts";
import {
  RUN_REASONS,
  RUN_STATES,
  type RunLogEntry,
  type RunQuestion,
  type RunReason,
  type RunSummary,
  type StoredRun,
} from "../../model/run.ts";
import type { RunItem } from "../../server/protocol.ts";
import type { Waited } from "../runs/waiting.ts";
import { ATTEMPT_STATES, type NodeAttempt, type NodeVisit } from "../runs/visits.ts";
import { exactly } from "./exactly.ts";
import { count, json, time } from "./resource.ts";

const summaryMembers = {
  runId: z.string(),
  project: z.string().describe("Canonical path"),
  workflow: z.string(),
  digest: z.string().describe("Of the code that it runs, from its first to its last node"),
  state: z.enum(RUN_STATES),
  reason: z.enum(Object.values(RUN_REASONS).flat() as RunReason[]).exactOptional(),
  message: z.string().exactOptional(),
  node: z.string().exactOptional().describe("The node that the reason is about"),
  exit: z.string().exactOptional().describe("By which exit it ended"),
  attempt: count.describe("Runs of the same request before it, plus one"),
  parent: z
    .strictObject({
      uid: z.string(),
      resourceManager: z.string(),
      key: z.string(),
      requestKey: z.string(),
    })
    .exactOptional()
    .describe("The resource that wanted it, and the key under which it did"),
  session: z.string().exactOptional().describe("The Pi session that started it"),
  startedBy: z.string(),
  cancelling: z.boolean().describe("True while a cancel is wanted and not done"),
  paused: z.boolean(),
  claimedAt: time.exactOptional(),
  epochs: count.describe("Runners that took it up so far"),
  entries: count.describe("Lines in its journal"),
  createdAt: time,
  startedAt: time.exactOptional(),
  endedAt: time.exactOptional(),
  deadlineAt: time.describe("It must have ended by then. Epoch milliseconds, UTC"),
};

export const runSummary = exactly<RunSummary>()(
  z
    .strictObject(summaryMembers)
    .meta({ id: "RunSummary", description: "A run without its input and output" }),
);

export const storedRun = exactly<StoredRun>()(
  z
    .strictObject({
      ...summaryMembers,
      input: json.describe("Secret fields read ***"),
      output: json.exactOptional(),
    })
    .meta({ id: "Run" }),
);

export const runQuestion = exactly<RunQuestion>()(
  z
    .strictObject({
      runId: z.string(),
      visit: count,
      node: z.string(),
      message: z.string(),
      schema: z.record(z.string(), json).exactOptional().describe("JSON Schema of the answer"),
      askedAt: time,
    })
    .meta({ id: "RunQuestion", description: "A question that a checkpoint asks" }),
);

const nodeAttempt = exactly<NodeAttempt>()(
  z
    .strictObject({
      attempt: count,
      state: z
        .enum(ATTEMPT_STATES)
        .describe("lost: nobody saw its end, and it was made again; docs/states.md has all"),
      startedAt: time,
      endedAt: time.exactOptional(),
      error: z
        .strictObject({
          message: z.string(),
          reason: z.string(),
          stack: z.string().exactOptional(),
        })
        .exactOptional(),
      choice: z.string().exactOptional().describe("Of a decision"),
      by: z.string().exactOptional().describe("Who answered, or settled what could not be told"),
      input: json.exactOptional(),
      output: json.exactOptional(),
    })
    .meta({ id: "NodeAttempt" }),
);

export const nodeVisit = exactly<NodeVisit>()(
  z
    .strictObject({
      visit: count.describe("Counts the entries of nodes over the run, from 1"),
      node: z.string().describe("Path in the flat graph: review/run-tests"),
      kind: z.enum(NODE_KINDS),
      state: z.enum(ATTEMPT_STATES).describe("Of its latest attempt"),
      startedAt: time,
      endedAt: time.exactOptional(),
      attempts: z.array(nodeAttempt),
      undone: z.array(nodeAttempt).exactOptional().describe("Attempts at undoing it"),
    })
    .meta({ id: "NodeVisit", description: "One entry of a node" }),
);

export const runLogEntry = exactly<RunLogEntry>()(
  z.strictObject({
    sequence: count,
    at: time,
    visit: count,
    node: z.string(),
    stream: z.enum(["stdout", "stderr", "log", "agent"]),
    text: z.string(),
  }),
);

export const runItem = exactly<Exclude<RunItem, { kind: "listed" }>>()(
  z.discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("present"), run: runSummary }),
    z.strictObject({ kind: z.literal("removed"), runId: z.string() }),
  ]),
);

const changed = z.strictObject({ run: storedRun });
const waited = exactly<Waited>()(
  z.strictObject({
    run: storedRun,
    questions: z.array(runQuestion).describe("Those that wait for an answer"),
  }),
);

/** What the verbs about runs print. */
export const RUN_DOCUMENTS = {
  runs: z.strictObject({ runs: z.array(runSummary).describe("Newest first") }),
  "runs-watch": runItem,
  "run-start": waited,
  "run-wait": waited,
  "run-show": z.strictObject({
    run: storedRun,
    nodes: z.array(nodeVisit).describe("In the order in which they began"),
    questions: z.array(runQuestion).describe("Those that wait for an answer"),
    attempts: z
      .array(z.strictObject({ runId: z.string(), attempt: count }))
      .describe("All runs of its request, by attempt"),
    advice: z.array(z.string()).describe("What it waits for or came to, and what helps"),
  }),
  "run-logs": runLogEntry,
  "run-answer": changed,
  "run-resolve": changed,
  "run-pause": changed,
  "run-resume": changed,
  "run-cancel": changed,
  "run-retry": changed,
};
