import { z } from "zod";
import { LIMITS } from "../model/limits.ts";
import type { Json } from "../model/canonical.ts";
import type { ErrorJson } from "../model/errors.ts";
import type { PassResult, RunnerFault } from "../model/pass.ts";
import type { MapRequest, MapResult, PassHost, PassRequest } from "./port.ts";
import { runParams, runResult, watched } from "./run-messages.ts";
import type { RunHost, RunNotice, RunPass } from "./run-port.ts";

/**
 * The messages between the server's process and a runner, one JSON line each over file descriptor
 * 3. The parent trusts nothing that comes from a child: shapes are checked here, payloads stay
 * opaque and are bounded by their size. The child imports only types from this file, so that a
 * runner carries no schema library.
 */
export const CHANNEL_FD = 3;

/** What a pass may call; the names are those of `PassHost` and, in a pass of a run, of `RunHost`. */
type HostMethod = Exclude<keyof PassHost | keyof RunHost, "log" | "secrets">;

/**
 * Server → runner. `pass` counts the passes, runs and maps of one runner: a late answer is told by it.
 * A runner that does not answer a `ping` is blocked by a node's code.
 */
export type ToRunner =
  | { type: "run"; pass: number; request: PassRequest }
  | { type: "execute"; pass: number; request: RunPass }
  | { type: "notice"; pass: number; notice: RunNotice }
  | { type: "ping"; pass: number }
  | { type: "map"; pass: number; request: Pick<MapRequest, "source" | "input"> }
  | { type: "reply"; id: number; ok: true; value?: unknown }
  | { type: "reply"; id: number; ok: false; error: WireError }
  | { type: "abort"; pass: number; reason: RunnerFault };

/** An error of the server as it reaches the author's code. */
export type WireError = { kind: "error"; error: ErrorJson } | { kind: "terminal"; message: string };

const text = z.string();
const json = z.unknown().transform((value) => value as Json);
const effectKey = z.string().min(1).max(LIMITS.effectKey);
const requestKey = z.string().min(1).max(LIMITS.key);
const passNumber = z.int().positive();

const outcome = z.discriminatedUnion("state", [
  z.strictObject({
    state: z.literal("applied"),
    externalRef: text.exactOptional(),
    result: json.exactOptional(),
  }),
  z.strictObject({ state: z.literal("rejected"), reason: text }),
  z.strictObject({ state: z.literal("indeterminate"), reason: text, park: z.boolean() }),
]);

const params = {
  beginEffect: z.strictObject({
    key: effectKey,
    kind: z.string().min(1).max(LIMITS.name),
    request: json,
    provenAbsent: z.boolean(),
  }),
  settleEffect: z.strictObject({ key: effectKey, requestFingerprint: text, outcome }),
  setFinalizer: z.strictObject({ name: z.string().min(1).max(LIMITS.name), present: z.boolean() }),
  emitEvent: z.strictObject({
    type: z.enum(["Normal", "Warning"]),
    reason: z.string().min(1).max(LIMITS.name),
    message: text,
    payload: json.exactOptional(),
  }),
  ensureWorkflow: z.strictObject({
    requestKey,
    workflow: z.string().min(1).max(LIMITS.name),
    input: json,
  }),
  getWorkflow: z.strictObject({ requestKey }),
  cancelWorkflow: z.strictObject({ requestKey }),
  ...runParams,
} satisfies Record<HostMethod, z.ZodType>;

const call = <M extends HostMethod>(method: M) =>
  z.strictObject({
    type: z.literal("call"),
    pass: passNumber,
    id: z.int().positive(),
    method: z.literal(method),
    params: params[method],
  });

const condition = z.strictObject({
  type: z.string().min(1).max(LIMITS.name),
  status: z.union([z.boolean(), z.literal("unknown")]),
  reason: z.string().min(1).max(LIMITS.name),
  message: text.exactOptional(),
});
const patch = {
  resourceManagerStatus: json.exactOptional(),
  conditions: z.array(condition).max(LIMITS.conditions).exactOptional(),
};
const result = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("settled"), ...patch }),
  z.strictObject({ kind: z.literal("requeue"), ...patch }),
  z.strictObject({
    kind: z.literal("requeueAfter"),
    delayMs: z.int().positive().max(LIMITS.maxRequeueMs),
    ...patch,
  }),
  z.strictObject({
    kind: z.literal("failed"),
    message: text,
    stack: text.exactOptional(),
    terminal: z.boolean(),
  }),
  z.strictObject({ kind: z.literal("parked"), effectKey, message: text }),
]) satisfies z.ZodType<PassResult>;

const mapResult = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("keys"),
    keys: z.array(z.string().min(1).max(LIMITS.key)).max(LIMITS.mappedKeys),
  }),
  z.strictObject({ kind: z.enum(["refused", "invalid"]), message: text }),
]) satisfies z.ZodType<MapResult>;

/** Beside the result of a pass or a map. */
const ending = {
  /** Resident size of the runner in bytes, by which it is recycled. */
  rss: z.int().nonnegative(),
  /** True where something of the pass may still run in this process: it must not be used again. */
  retire: z.boolean(),
};

function isRecord(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const fromRunner = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("ready") }),
  z.strictObject({ type: z.literal("loadFailed"), message: text }),
  z.strictObject({
    type: z.literal("log"),
    pass: passNumber,
    level: z.enum(["debug", "info", "warn", "error"]),
    message: text,
    // A record's schema would drop a member named `__proto__`.
    fields: z.custom<Record<string, unknown>>(isRecord).exactOptional(),
  }),
  z.strictObject({ type: z.literal("result"), pass: passNumber, result, ...ending }),
  z.strictObject({
    type: z.literal("executed"),
    pass: passNumber,
    result: runResult,
    ...ending,
  }),
  z.strictObject({ type: z.literal("watch"), pass: passNumber, attempt: watched }),
  z.strictObject({ type: z.literal("pong"), pass: passNumber }),
  z.strictObject({ type: z.literal("mapped"), pass: passNumber, result: mapResult, ...ending }),
  z.discriminatedUnion("method", [
    call("beginEffect"),
    call("settleEffect"),
    call("setFinalizer"),
    call("emitEvent"),
    call("ensureWorkflow"),
    call("getWorkflow"),
    call("cancelWorkflow"),
    call("readJournal"),
    call("appendJournal"),
    call("appendRunLog"),
    call("runOrders"),
    call("askAgent"),
    call("closeAgent"),
  ]),
]);

/** Runner → server. */
export type FromRunner = z.infer<typeof fromRunner>;
export type HostCall = Extract<FromRunner, { type: "call" }>;
/** The calls that a pass of a run may make. */
export type RunCall = Extract<HostCall, { method: keyof RunHost }>;

/**
 * Reads one frame of a runner.
 * @throws Error that names the first place where it has not the form of a message.
 */
export function parseFromRunner(frame: string): FromRunner {
  let value: unknown;
  try {
    value = JSON.parse(frame);
  } catch {
    throw new Error("not JSON");
  }
  const parsed = fromRunner.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new Error(
    `${issue?.path.join(".") ?? ""} ${issue?.message ?? "has an unknown form"}`.trim(),
  );
}
