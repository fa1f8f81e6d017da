import { afterEach, describe, expect, it } from "vitest";
import { waitFor } from "../../src/apply/wait.ts";
import type { ResourceChange } from "../../src/apply/wait.ts";
import type { WaitGoal, WaitTarget } from "../../src/apply/waiting.ts";
import { RUNTIME_CONDITIONS, TERMINAL_ERROR } from "../../src/model/condition.ts";
import type { Condition } from "../../src/model/condition.ts";
import type { ResourceSummary } from "../../src/model/resource.ts";
import { PROJECT, SET } from "../diff/specs.ts";

const READY: WaitGoal = { condition: "Ready", status: true };
const JOB: WaitTarget = { resourceManager: "job", key: "a" };
const LISTED: ResourceChange = { kind: "listed" };

/** A stream that stays open after its last change, as a server's watch does. */
async function* watching(...changes: ResourceChange[]): AsyncGenerator<ResourceChange> {
  yield* changes;
  await new Promise(() => undefined);
}

/** A clock whose only timer fires when a test says so. */
function handClock() {
  let fire: (() => void) | undefined;
  return {
    schedule: (callback: () => void) => {
      fire = callback;
      return () => (fire = undefined);
    },
    fire: () => fire?.(),
    isArmed: () => fire !== undefined,
  };
}

function condition(status: Condition["status"], generation: number, type = "Ready"): Condition {
  return {
    type,
    status,
    reason: "Because",
    message: "it is so",
    observedGeneration: generation,
    lastTransitionTime: "2026-01-01T00:00:00.000Z",
  };
}

function present(
  generation: number,
  conditions: Condition[],
  metadata: Partial<ResourceSummary["metadata"]> = {},
  suspended = false,
): ResourceChange {
  const resource: ResourceSummary = {
    project: PROJECT,
    metadata: {
      uid: "uid-a",
      resourceManager: "job",
      key: "a",
      resourceVersion: 1,
      generation,
      finalizers: [],
      ...metadata,
    },
    specHash: "",
    labels: {},
    dependsOn: [],
    owner: SET,
    origin: { owner: SET },
    prunable: true,
    suspended,
    createdAt: 0,
    updatedAt: 0,
    observedGeneration: generation,
    conditions,
  };
  return { kind: "present", resource };
}

const removed = (change: ResourceChange): ResourceChange =>
  ({ ...change, kind: "removed" }) as ResourceChange;

describe("waiting", () => {
  let clock = handClock();
  const wait = (targets: WaitTarget[], goal: WaitGoal, ...changes: ResourceChange[]) => {
    clock = handClock();
    return waitFor(targets, goal, watching(...changes), { timeoutMs: 1_500, clock });
  };
  afterEach(() => {
    if (clock.isArmed()) throw new Error("a timer was left");
  });

  it("ends when the condition is true", async () => {
    const changes = [present(1, [condition(false, 1)]), LISTED, present(1, [condition(true, 1)])];
    expect(await wait([JOB], READY, ...changes)).toEqual([
      { ...JOB, state: "met", condition: condition(true, 1) },
    ]);
  });

  it("ends when the condition is false, where that is the goal", async () => {
    const goal = { condition: "Ready", status: false };
    const [outcome] = await wait([JOB], goal, present(1, [condition(false, 1)]));
    expect(outcome?.state).toBe("met");
  });

  it("G-10: trusts no condition that was computed from an older generation", async () => {
    const changes = [present(2, [condition(true, 1)]), LISTED, present(2, [condition(true, 2)])];
    const [outcome] = await wait([JOB], READY, ...changes);
    expect(outcome?.condition?.observedGeneration).toBe(2);
  });

  it("G-10: trusts no state of the resource from before it was applied", async () => {
    const applied = { ...JOB, generation: 2 };
    const changes = [present(1, [condition(true, 1)]), LISTED, present(3, [condition(true, 3)])];
    const [outcome] = await wait([applied], READY, ...changes);
    expect(outcome?.condition?.observedGeneration).toBe(3);
  });

  it("waits until all have it at once", async () => {
    const b = { resourceManager: "job", key: "b" };
    const changes = [
      present(1, [condition(true, 1)]),
      present(2, [condition(true, 1)]),
      present(1, [condition(true, 1)], { key: "b", uid: "uid-b" }),
      present(2, [condition(true, 2)]),
    ];
    const outcomes = await wait([JOB, b], READY, ...changes);
    expect(outcomes.map((outcome) => outcome.condition?.observedGeneration)).toEqual([2, 1]);
  });

  it("ends as stalled where the runtime has stopped trying", async () => {
    const stalled = condition(true, 1, "Stalled");
    const changes = [present(1, [condition(false, 1), stalled])];
    expect(await wait([JOB], READY, ...changes)).toEqual([
      { ...JOB, state: "stalled", condition: stalled },
    ]);
  });

  it("ends as stalled where the manager said that it can't go on, and for no other failure", async () => {
    const reconciled = (status: boolean, reason: string) => ({
      ...condition(status, 1, RUNTIME_CONDITIONS.reconciled),
      reason,
    });
    const terminal = reconciled(false, TERMINAL_ERROR);
    const changes = [
      reconciled(false, "Error"),
      reconciled(true, TERMINAL_ERROR),
      { ...condition(false, 1, "Other"), reason: TERMINAL_ERROR },
      condition(false, 1, RUNTIME_CONDITIONS.stalled),
      condition(true, 1, "Other"),
      terminal,
    ].map((one) => present(1, [one]));
    expect(await wait([JOB], READY, ...changes)).toEqual([
      { ...JOB, state: "stalled", condition: terminal },
    ]);
  });

  it("ends as suspended where a person has stopped it short of the goal", async () => {
    const suspended = (status: boolean) => present(1, [condition(status, 1)], {}, true);
    expect(await wait([JOB], READY, suspended(false))).toEqual([{ ...JOB, state: "suspended" }]);
    expect(await wait([JOB], READY, suspended(true))).toMatchObject([{ state: "met" }]);
  });

  it("passes over what nobody waits for, and trusts the very generation and uid that were applied", async () => {
    const other = present(1, [condition(true, 1)], { key: "b", uid: "uid-b" });
    const applied = { ...JOB, uid: "uid-a", generation: 2 };
    const one = present(2, [condition(false, 2, "Other"), condition(true, 2)]);
    expect(await wait([applied], READY, other, removed(other), one)).toEqual([
      { ...applied, state: "met", condition: condition(true, 2) },
    ]);
  });

  it("ends when the resource is gone, or was not there, or another has its name", async () => {
    const goal = "deleted" as const;
    const one = present(1, []);
    expect(await wait([JOB], goal, one, LISTED, removed(one))).toMatchObject([{ state: "met" }]);
    expect(await wait([JOB], goal, LISTED)).toMatchObject([{ state: "met" }]);
    const target = { ...JOB, uid: "uid-older" };
    expect(await wait([target], goal, one)).toMatchObject([{ state: "met" }]);
  });

  it("ends at once where there is nothing to wait for", async () => {
    expect(await wait([], READY)).toEqual([]);
  });

  it("fails where the resource is not there or goes away", async () => {
    const one = present(1, []);
    const notFound = expect.objectContaining({ code: "NOT_FOUND" });
    await expect(wait([JOB], READY, LISTED)).rejects.toEqual(notFound);
    await expect(wait([JOB], READY, one, removed(one))).rejects.toEqual(notFound);
    await expect(wait([{ ...JOB, uid: "older" }], READY, one)).rejects.toEqual(notFound);
  });

  it("fails where the stream ends before", async () => {
    const ended = (async function* () {
      yield LISTED_ONE;
    })();
    await expect(waitFor([JOB], READY, ended, { timeoutMs: 1, clock })).rejects.toMatchObject({
      code: "SERVER_UNREACHABLE",
    });
  });

  it.each<[string, WaitGoal, ResourceChange[]]>([
    ["was not seen", READY, []],
    ["has no condition Ready yet", READY, [present(1, [])]],
    ["Ready is false (Because): it is so", READY, [present(1, [condition(false, 1)])]],
    ["Ready is of generation 1 of 2", READY, [present(2, [condition(true, 1)])]],
    ["Ready is false (Because)", READY, [present(1, [condition(true, 1, "Other"), wordless()])]],
    ["its deletion was not asked for", "deleted", [present(1, [])]],
    [
      "is being deleted",
      "deleted",
      [present(1, [], { deletionTimestamp: "2026-01-01T00:00:00.000Z" })],
    ],
    [
      "waits for finalizers: cleanup",
      "deleted",
      [present(1, [], { finalizers: ["cleanup"], deletionTimestamp: "2026-01-01T00:00:00.000Z" })],
    ],
  ])("times out and says why: %s", async (why, goal, changes) => {
    clock = handClock();
    async function* thenTimeout(): AsyncGenerator<ResourceChange> {
      yield* changes;
      clock.fire();
      await new Promise(() => undefined);
    }
    const waiting = waitFor([JOB], goal, thenTimeout(), { timeoutMs: 1_500, clock });
    await expect(waiting).rejects.toMatchObject({
      code: "WAIT_TIMEOUT",
      message: `1 of 1 did not get there within 1.5 s:\n  job a: ${why}`,
    });
  });

  it("names, when it times out, only those that did not get there", async () => {
    clock = handClock();
    async function* thenTimeout(): AsyncGenerator<ResourceChange> {
      yield present(1, [condition(true, 1)]);
      clock.fire();
      await new Promise(() => undefined);
    }
    const b = { resourceManager: "job", key: "b" };
    const waiting = waitFor([JOB, b], READY, thenTimeout(), { timeoutMs: 1_500, clock });
    await expect(waiting).rejects.toMatchObject({
      message: "1 of 2 did not get there within 1.5 s:\n  job b: was not seen",
      details: { waiting: [b] },
    });
  });
});

const LISTED_ONE = present(1, []);

function wordless(): Condition {
  const { message: _message, ...rest } = condition(false, 1);
  return rest;
}
