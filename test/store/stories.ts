import fc from "fast-check";
import type { ConditionInput } from "../../src/model/condition.ts";
import type { PassOutcome } from "../../src/model/pass.ts";
import type { WakeCause } from "../../src/model/queue.ts";
import { RUN_PROLOGUE, runSteps, type RunStep } from "./differential-runs.ts";

/** Keys are few, so that commands meet. */
export const KEYS = ["a", "b", "c"];
export const MANAGERS = ["m", "n"];

type Place = { key: string; manager: string };

/** One step of a story, as plain data: what a failing run prints. */
export type Step =
  | ({ do: "put"; spec: number; label: number; suspended: boolean } & Place)
  | ({ do: "stale-put" } & Place)
  | ({ do: "delete"; force: boolean } & Place)
  | ({ do: "prune" } & Place)
  | ({ do: "suspend"; suspended: boolean } & Place)
  | ({ do: "enqueue"; cause: WakeCause; delayMs: number } & Place)
  | { do: "enqueue-lane"; manager: string; cause: WakeCause }
  | { do: "claim"; limit: number; managers: string[] }
  | { do: "settle"; pick: number; outcome: PassOutcome; random: number; next: boolean }
  | { do: "settle-again"; pick: number }
  | { do: "renew"; pick: number }
  | { do: "finalizer"; pick: number; name: string; present: boolean }
  | { do: "begin-effect"; pick: number; key: string; request: number; proven: boolean }
  | { do: "settle-effect"; pick: number; key: string; request: number; how: number }
  | ({ do: "resolve"; effect: string; applied: boolean } & Place)
  | RunStep
  | { do: "repair" }
  | { do: "epoch" }
  | { do: "wait"; ms: number };

const place = fc.record({ key: fc.constantFrom(...KEYS), manager: fc.constantFrom(...MANAGERS) });
const pick = fc.nat({ max: 5 });
const cause = fc.constantFrom<WakeCause>("request", "schedule", "child", "status", "source");
const answer = fc.record(
  {
    resourceManagerStatus: fc.record({ phase: fc.constantFrom("one", "two") }),
    conditions: fc.constantFrom(
      ...([
        [{ type: "Ready", status: true, reason: "Ok" }],
        [{ type: "Ready", status: false, reason: "Blocked", message: "waiting" }],
      ] satisfies ConditionInput[][] as ConditionInput[][]),
    ),
  },
  { requiredKeys: [] },
);
const outcome: fc.Arbitrary<PassOutcome> = fc.oneof(
  { weight: 4, arbitrary: answer.map((patch) => ({ kind: "settled" as const, ...patch })) },
  answer.map((patch) => ({ kind: "requeue" as const, ...patch })),
  fc
    .tuple(answer, fc.constantFrom(1, 500, 30_000, Number.NaN, -1))
    .map(([patch, delayMs]) => ({ kind: "requeueAfter" as const, delayMs, ...patch })),
  fc.boolean().map((terminal) => ({ kind: "failed" as const, message: "no", terminal })),
  fc.constant({ kind: "parked" as const, effectKey: "e1", message: "can't tell" }),
  fc
    .constantFrom("exit" as const, "deadline" as const, "shutdown" as const)
    .map((fault) => ({ kind: "crashed" as const, fault, message: "gone" })),
);

const steps = {
  put: fc.record({
    do: fc.constant("put" as const),
    spec: fc.nat({ max: 2 }),
    label: fc.nat({ max: 1 }),
    suspended: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.constant(true)),
  }),
  stalePut: fc.record({ do: fc.constant("stale-put" as const) }),
  delete: fc.record({ do: fc.constant("delete" as const), force: fc.boolean() }),
  prune: fc.record({ do: fc.constant("prune" as const) }),
  suspend: fc.record({ do: fc.constant("suspend" as const), suspended: fc.boolean() }),
  enqueue: fc.record({
    do: fc.constant("enqueue" as const),
    cause,
    delayMs: fc.constantFrom(0, 0, 700, 40_000),
  }),
};
const at = <T extends object>(arbitrary: fc.Arbitrary<T>) =>
  fc.tuple(arbitrary, place).map(([step, where]) => ({ ...step, ...where }));

const queueSteps: fc.Arbitrary<Step>[] = [
  at(steps.put),
  at(steps.enqueue),
  at(steps.suspend),
  fc.record({
    do: fc.constant("enqueue-lane" as const),
    manager: fc.constantFrom(...MANAGERS),
    cause,
  }),
  fc.record({
    do: fc.constant("claim" as const),
    limit: fc.integer({ min: 1, max: 3 }),
    managers: fc.constantFrom<string[]>(["m"], ["m", "n"], ["n", "m"]),
  }),
  fc.record({
    do: fc.constant("settle" as const),
    pick,
    outcome,
    random: fc.constantFrom(0, 0.5, 0.99),
    next: fc.boolean(),
  }),
  fc.record({ do: fc.constant("settle-again" as const), pick }),
  fc.record({ do: fc.constant("renew" as const), pick }),
  fc.record({ do: fc.constant("repair" as const) }),
  fc.record({ do: fc.constant("epoch" as const) }),
  fc.record({
    do: fc.constant("wait" as const),
    ms: fc.constantFrom(1, 600, 2_500, 31_000, 100_000),
  }),
];

const finalizer = fc.record({
  do: fc.constant("finalizer" as const),
  pick,
  name: fc.constantFrom("x", "y"),
  present: fc.boolean(),
});
const deletionSteps: fc.Arbitrary<Step>[] = [
  at(steps.delete),
  at(steps.prune),
  at(steps.stalePut),
  finalizer,
  finalizer,
];
const effectSteps: fc.Arbitrary<Step>[] = [
  fc.record({
    do: fc.constant("begin-effect" as const),
    pick,
    key: fc.constantFrom("e1", "e2"),
    request: fc.constantFrom(0, 0, 0, 1),
    proven: fc.boolean(),
  }),
  fc.record({
    do: fc.constant("settle-effect" as const),
    pick,
    key: fc.constantFrom("e1", "e2"),
    request: fc.constantFrom(0, 0, 0, 1),
    how: fc.nat({ max: 3 }),
  }),
  at(
    fc.record({
      do: fc.constant("resolve" as const),
      effect: fc.constantFrom("e1", "e2"),
      applied: fc.boolean(),
    }),
  ),
];

const claimOfRuns: fc.Arbitrary<Step> = fc.record({
  do: fc.constant("claim" as const),
  limit: fc.integer({ min: 1, max: 3 }),
  managers: fc.constantFrom<string[]>(
    ["m", "workflow/w", "workflow/v"],
    ["workflow/w", "m"],
    ["workflow/v", "workflow/w", "n", "m"],
  ),
});

/** A hundred commands, on average. */
const LENGTH = { minLength: 5, maxLength: 195, size: "max" as const };

/** Stories about one area; claims and settles are in all of them. */
export const stories = {
  queue: fc.array(fc.oneof(...queueSteps), LENGTH),
  deletion: fc.array(fc.oneof(...queueSteps, ...deletionSteps, ...deletionSteps), LENGTH),
  effects: fc.array(
    fc.oneof(...queueSteps, ...deletionSteps, ...effectSteps, ...effectSteps),
    LENGTH,
  ),
  runs: fc
    .array(
      fc.oneof(
        ...queueSteps,
        ...deletionSteps,
        ...runSteps,
        ...runSteps,
        claimOfRuns,
        claimOfRuns,
        claimOfRuns,
      ),
      LENGTH,
    )
    .map((story): Step[] => [...RUN_PROLOGUE, ...story]),
};

/** Stories of each area; `npm test` plays more than a bare vitest, and `npm run soak` many. */
const STORIES = Number(process.env["MODEL_STORIES"] ?? 25);
/** What the stories of an area may take. Milliseconds. */
export const LIMIT_MS = 60_000 + STORIES * 2_000;
// The time limit keeps a failure's shrinking within the test's own: it prints the best so far.
export const RUNS = {
  numRuns: STORIES,
  interruptAfterTimeLimit: LIMIT_MS - 10_000,
  markInterruptAsFailure: true,
};
