import { z } from "zod";
import { NODE_KINDS, SAFETIES } from "../model/graph.ts";
import { LIMITS } from "../model/limits.ts";
import type { Json } from "../model/canonical.ts";
import { RUN_REASONS, type JournalInput, type RunEnding, type RunLogInput } from "../model/run.ts";
import type { AgentQuestion, RunOutcome } from "./run-port.ts";

/** The parts of messages that are about runs, as `protocol.ts` checks them. */

const text = z.string();
const json = z.unknown().transform((value) => value as Json);
const count = z.int().positive();
const time = z.int().nonnegative();
const node = z.string().min(1).max(LIMITS.key);
const kind = z.enum(NODE_KINDS);

const attempt = {
  visit: count,
  node,
  attempt: count,
  compensation: z.literal(true).exactOptional(),
};
const line = <E extends string>(event: E) => ({ event: z.literal(event), at: time });

const journalInput = z.discriminatedUnion("event", [
  z.strictObject({ ...line("begun"), ...attempt, kind, input: json.exactOptional() }),
  z.strictObject({
    ...line("succeeded"),
    ...attempt,
    kind,
    startedAt: time,
    input: json.exactOptional(),
    output: json.exactOptional(),
    choice: text.exactOptional(),
    by: text.exactOptional(),
  }),
  z.strictObject({
    ...line("failed"),
    ...attempt,
    kind,
    startedAt: time,
    input: json.exactOptional(),
    error: z.strictObject({ message: text, reason: text, stack: text.exactOptional() }),
    retryable: z.boolean(),
  }),
  z.strictObject({ ...line("aborted"), ...attempt, kind, startedAt: time }),
  z.strictObject({ ...line("released"), ...attempt, by: text }),
  z.strictObject({ ...line("ambiguous"), ...attempt, kind }),
  z.strictObject(line("recovered")),
  z.strictObject({ ...line("cancel"), by: text }),
  z.strictObject(line("deadline")),
]) satisfies z.ZodType<JournalInput>;

const runLogInput = z.strictObject({
  at: time,
  visit: count,
  node,
  stream: z.enum(["stdout", "stderr", "log", "agent"]),
  text: z.string().max(LIMITS.runLogPiece),
}) satisfies z.ZodType<RunLogInput>;

const question = z.strictObject({
  visit: count,
  node,
  conversation: z.string().min(1).max(LIMITS.key),
  prompt: text,
  schema: z.record(z.string(), z.unknown()),
  tools: z.array(z.string().min(1).max(LIMITS.name)).max(LIMITS.agentTools),
  model: text.exactOptional(),
  cwd: text,
  deadlineMs: count,
}) satisfies z.ZodType<AgentQuestion>;

/** What a run may ask of its host. */
export const runParams = {
  readJournal: z.strictObject({ after: time, limit: count.max(LIMITS.journalPage) }),
  appendJournal: z.strictObject({
    entries: z.array(journalInput).min(1).max(LIMITS.journalPage),
  }),
  appendRunLog: z.strictObject({ entries: z.array(runLogInput).min(1).max(LIMITS.journalPage) }),
  runOrders: z.strictObject({}),
  askAgent: question,
  closeAgent: z.strictObject({ conversation: question.shape.conversation }),
};

/** An attempt with a limit of its own that is about to begin; its end is a line of the journal. */
export const watched = z.strictObject({
  ...attempt,
  kind,
  safety: z.enum(SAFETIES),
  startedAt: time,
  limitMs: count.max(LIMITS.maxTimerMs),
});
export type WatchedAttempt = z.infer<typeof watched>;

const about = { message: text, node: node.exactOptional() };

const ending = z.discriminatedUnion("state", [
  z.strictObject({ state: z.literal("succeeded"), exit: text, output: json }),
  z.strictObject({ state: z.literal("failed"), reason: z.enum(RUN_REASONS.failed), ...about }),
  z.strictObject({ state: z.literal("waiting"), reason: z.enum(RUN_REASONS.waiting), ...about }),
  z.strictObject({
    state: z.literal("interrupted"),
    reason: z.enum(["Ambiguous", "DefinitionChanged"]),
    ...about,
  }),
]) satisfies z.ZodType<RunEnding>;

/** How a runner says that a pass of a run ended; only the server can see a crash. */
export const runResult = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("ran"), ending }),
  z.strictObject({
    kind: z.literal("failed"),
    message: text,
    stack: text.exactOptional(),
    terminal: z.boolean(),
  }),
]) satisfies z.ZodType<RunResult>;
export type RunResult = Exclude<RunOutcome, { kind: "crashed" }>;
