import { describe, expect, it } from "vitest";
import { LIMITS } from "../../src/model/limits.ts";
import { parseFromRunner, type FromRunner } from "../../src/runner/protocol.ts";

const result = (value: object) => ({
  type: "result",
  pass: 1,
  result: value,
  rss: 1,
  retire: false,
});
const call = (method: string, params: object) => ({ type: "call", pass: 1, id: 1, method, params });
const begin = (parts: object = {}) =>
  call("beginEffect", { key: "k", kind: "t", request: { a: [1] }, provenAbsent: false, ...parts });

describe("messages of a runner", () => {
  it.each<[string, object]>([
    ["ready", { type: "ready" }],
    ["a failed load", { type: "loadFailed", message: "no" }],
    ["a log line", { type: "log", pass: 1, level: "info", message: "m", fields: { a: 1 } }],
    ["settled", result({ kind: "settled" })],
    ["requeue", result({ kind: "requeue", resourceManagerStatus: { a: null } })],
    ["requeueAfter", result({ kind: "requeueAfter", delayMs: LIMITS.maxRequeueMs })],
    [
      "conditions",
      result({ kind: "settled", conditions: [{ type: "A", status: "unknown", reason: "X" }] }),
    ],
    ["failed", result({ kind: "failed", message: "m", stack: "s", terminal: true })],
    ["parked", result({ kind: "parked", effectKey: "k", message: "m" })],
    ["an effect to begin", begin()],
    ["an effect at the limit of its key", begin({ key: "k".repeat(LIMITS.effectKey) })],
    [
      "an effect that settles",
      call("settleEffect", {
        key: "k",
        requestFingerprint: "f",
        outcome: { state: "applied", externalRef: "r", result: [] },
      }),
    ],
    ["a finalizer", call("setFinalizer", { name: "f", present: true })],
    ["an event", call("emitEvent", { type: "Warning", reason: "R", message: "m", payload: 1 })],
    ["a child run", call("ensureWorkflow", { requestKey: "r", workflow: "w", input: null })],
    ["a look at a child run", call("getWorkflow", { requestKey: "r" })],
    ["a cancel of a child run", call("cancelWorkflow", { requestKey: "k".repeat(LIMITS.key) })],
  ])("%s is read as it was written", (_what, message) => {
    expect(parseFromRunner(JSON.stringify(message))).toEqual(message as FromRunner);
  });

  it.each<[string, unknown, RegExp]>([
    ["no object", 7, /expected object/],
    ["an unknown type", { type: "hello" }, /type/],
    ["a member too many", { type: "ready", pid: 1 }, /pid/],
    ["an unknown method", call("deleteEverything", {}), /method/],
    ["a look at a child run without a key", call("getWorkflow", { requestKey: "" }), /requestKey/],
    ["an unknown kind of result", result({ kind: "done" }), /result\.kind/],
    [
      "a crash that only the server can see",
      result({ kind: "crashed", fault: "exit", message: "" }),
      /result\.kind/,
    ],
    ["a delay of nothing", result({ kind: "requeueAfter", delayMs: 0 }), /delayMs/],
    [
      "a delay over the limit",
      result({ kind: "requeueAfter", delayMs: LIMITS.maxRequeueMs + 1 }),
      /delayMs/,
    ],
    [
      "a condition with a text status",
      result({ kind: "settled", conditions: [{ type: "A", status: "True", reason: "X" }] }),
      /conditions\.0\.status/,
    ],
    ["an effect without a key", begin({ key: "" }), /params\.key/],
    [
      "an effect past the limit of its key",
      begin({ key: "k".repeat(LIMITS.effectKey + 1) }),
      /params\.key/,
    ],
    [
      "an effect that is pending",
      call("settleEffect", { key: "k", requestFingerprint: "f", outcome: { state: "pending" } }),
      /outcome\.state/,
    ],
    ["a pass that is no number", { ...begin(), pass: "1" }, /pass/],
  ])("%s is refused, with its place", (_what, message, place) => {
    expect(() => parseFromRunner(JSON.stringify(message))).toThrow(place);
  });

  it("what is no JSON is refused", () => {
    expect(() => parseFromRunner('{"type":')).toThrow("not JSON");
  });
});
