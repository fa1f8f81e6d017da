import { expect } from "vitest";
import fc from "fast-check";
import { canonicalJson, fingerprint } from "../../src/model/canonical.ts";
import type { ConditionInput } from "../../src/model/condition.ts";
import type { StoredEffect } from "../../src/model/effect.ts";
import { PiWorkflowsError } from "../../src/model/errors.ts";
import type { PassOutcome } from "../../src/model/pass.ts";
import type { WakeCause } from "../../src/model/queue.ts";
import type { Claimed, SettleReceipt } from "../../src/store/store.ts";
import {
  isRunStep,
  lookAtRuns,
  RUN_PROLOGUE,
  runSteps,
  takeRunStep,
  type RunStep,
} from "./differential-runs.ts";
import { newDatabaseFile, removeDatabase } from "../support/memory-database.ts";
import { ReferenceStore } from "./reference.ts";
import {
  Driver,
  ManualClock,
  ORIGIN,
  PROJECT,
  specWrite,
  sqliteStore,
  type ModelledStore,
} from "./support.ts";

/** Keys are few, so that commands meet. */
const KEYS = ["a", "b", "c"];
const MANAGERS = ["m", "n"];

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

/** One of the two stores with the claims it has handed out. */
class Side {
  readonly driver: Driver;
  readonly #handed: Claimed[] = [];
  readonly #settled = new Map<Claimed, () => Promise<unknown>>();
  /** Uid to a name that both sides agree on. */
  readonly #names = new Map<string, string>();
  readonly #versions = new Map<string, number>();

  constructor(store: ModelledStore, clock: ManualClock) {
    this.driver = new Driver(store, clock);
  }

  /** What the step came to: a value that both sides must agree on, or the code of its error. */
  async take(step: Step): Promise<unknown> {
    try {
      return this.#neutral(await this.#run(step));
    } catch (error) {
      if (error instanceof PiWorkflowsError) return error.code;
      throw error;
    }
  }

  /** All that can be seen of the store, without what differs by nature: uids, versions, tokens. */
  async look(): Promise<unknown> {
    const { store } = this.driver;
    // First, so that both sides name runs alike.
    const runs = this.#neutral(await lookAtRuns(this.driver));
    const resources = [];
    for (const manager of MANAGERS) {
      for (const key of KEYS) {
        const found = await store.get(this.driver.ref(key, manager));
        if (found) resources.push({ ...found, moved: this.#moved(found.resource.metadata) });
      }
    }
    const queue = await store.queue({ project: PROJECT });
    const shown = queue
      .map((entry) =>
        this.#neutral({
          ...entry,
          // While it runs, the class is that of what was asked for since, which is nobody's business.
          class: entry.claimed ? "" : entry.class,
        }),
      )
      .sort((left, right) => (canonicalJson(left) < canonicalJson(right) ? -1 : 1));
    const effects = await store.effects({});
    const sorted = effects.map((effect) => canonicalJson(this.#neutral(effect))).sort();
    const lanes = await store.lanes();
    return { runs, queue: shown, sorted, ...(this.#neutral({ resources, lanes }) as object) };
  }

  #moved({ uid, resourceVersion }: { uid: string; resourceVersion: number }): boolean {
    const before = this.#versions.get(uid);
    this.#versions.set(uid, resourceVersion);
    if (before !== undefined && resourceVersion < before) {
      throw new Error(`G-2: the version of ${uid} went back to ${resourceVersion}`);
    }
    return before !== resourceVersion;
  }

  async #run(step: Step): Promise<unknown> {
    const { driver } = this;
    const { store } = driver;
    if (isRunStep(step)) {
      const settled = (claimed: Claimed, settle: () => Promise<SettleReceipt>) =>
        this.#settle(claimed, settle);
      return takeRunStep(step, { driver, handed: this.#handed, settled });
    }
    switch (step.do) {
      case "put":
        return driver.put(
          step.key,
          { spec: step.spec },
          {
            manager: step.manager,
            labels: { label: String(step.label) },
            suspended: step.suspended,
          },
        );
      case "stale-put": {
        const expected = (await driver.version(step.key, step.manager)) + 1_000_000;
        const change = {
          ...step,
          kind: "update" as const,
          write: specWrite({ lost: 1 }),
          expected,
        };
        return store.applyBatch({ project: PROJECT, changes: [change] });
      }
      case "delete":
        return store.delete({
          ref: driver.ref(step.key, step.manager),
          origin: ORIGIN,
          force: step.force,
        });
      case "prune": {
        const expected = await driver.version(step.key, step.manager);
        if (expected === 0) return undefined;
        const change = { ...step, kind: "prune" as const, expected, origin: ORIGIN };
        return store.applyBatch({ project: PROJECT, changes: [change] });
      }
      case "suspend":
        return store.suspend(driver.ref(step.key, step.manager), step.suspended);
      case "enqueue":
        return store.enqueue([
          {
            target: driver.ref(step.key, step.manager),
            cause: step.cause,
            ...(step.delayMs === 0 ? {} : { delayMs: step.delayMs }),
          },
        ]);
      case "enqueue-lane":
        return store.enqueue([{ target: { lane: driver.lane(step.manager) }, cause: step.cause }]);
      case "claim":
        return this.#hand(await driver.claim(step.limit, step.managers));
      case "repair":
        return store.repair();
      case "epoch":
        driver.epoch += 1;
        return store.beginEpoch();
      case "wait":
        return undefined;
      case "resolve": {
        const found = await store.get(driver.ref(step.key, step.manager));
        const outcome = step.applied
          ? { state: "applied" as const, externalRef: "by hand" }
          : { state: "rejected" as const, reason: "by hand" };
        const uid = found?.resource.metadata.uid ?? "none";
        return store.resolveEffect(uid, step.effect, outcome, "ann");
      }
      default:
        return this.#onBehalf(step);
    }
  }

  /** Steps that a pass takes, with a claim that may be stale by now. */
  async #onBehalf(step: Exclude<Extract<Step, { pick: number }>, RunStep>): Promise<unknown> {
    const { driver } = this;
    const { store } = driver;
    const claimed = this.#handed.at(-1 - (step.pick % Math.max(1, this.#handed.length)));
    if (!claimed) return undefined;
    switch (step.do) {
      case "settle": {
        const settle = () =>
          store.settle({
            claim: claimed.claim,
            reconcileId: claimed.reconcileId,
            observedGeneration: claimed.resource.metadata.generation,
            outcome: step.outcome,
            startedAt: driver.clock.now(),
            durationMs: 5,
            random: step.random,
            ...(step.next ? { next: driver.claimRequest(2) } : {}),
          });
        return this.#settle(claimed, settle);
      }
      case "settle-again": {
        const again = this.#settled.get(claimed);
        return again ? ((await again()) as { readyAt?: number }).readyAt : undefined;
      }
      case "renew":
        return store.renew(claimed.claim, driver.clock.now() + 90_000);
      case "finalizer":
        return store.setFinalizer(claimed.claim, step.name, step.present);
      case "begin-effect":
        return store.beginEffect(claimed.claim, {
          key: step.key,
          kind: "test",
          request: { request: step.request },
          provenAbsent: step.proven,
        });
      case "settle-effect":
        return store.settleEffect(claimed.claim, {
          key: step.key,
          requestFingerprint: fingerprints[step.request] as string,
          outcome: outcomes[step.how] as (typeof outcomes)[number],
        });
    }
  }

  async #settle(claimed: Claimed, settle: () => Promise<SettleReceipt>): Promise<unknown> {
    const receipt = await settle();
    this.#settled.set(claimed, settle);
    this.#hand(receipt.claimed);
    return { readyAt: receipt.readyAt, claimed: receipt.claimed.map(shownClaim) };
  }

  #hand(claimed: Claimed[]): unknown {
    this.#handed.push(...claimed);
    return claimed.map(shownClaim);
  }

  #neutral(value: unknown): unknown {
    return JSON.parse(
      JSON.stringify(value, (name, member: unknown) => {
        if (["resourceVersion", "sequence", "revision"].includes(name)) return "…";
        if (IDS.has(name)) return this.#nameOf(String(member));
        if (name === "key" || name === "resourceKey")
          return this.#names.get(String(member)) ?? member;
        if (isToldRun(member)) return { ...member, message: "…" };
        return isEffect(member) ? { ...member, reason: "…" } : member;
      }) ?? "null",
    ) as unknown;
  }

  #nameOf(uid: string): string {
    const known = this.#names.get(uid);
    if (known !== undefined) return known;
    const name = `resource ${this.#names.size}`;
    this.#names.set(uid, name);
    return name;
  }
}

const fingerprints = [0, 1].map((request) => fingerprint({ request }));
const outcomes = [
  { state: "applied" as const, externalRef: "ref", result: { done: true } },
  { state: "rejected" as const, reason: "refused" },
  { state: "indeterminate" as const, reason: "time-out", park: false },
  { state: "indeterminate" as const, reason: "can't tell", park: true },
];

const IDS: ReadonlySet<string> = new Set(["uid", "resourceUid", "runId"]);

/** Why a run is where it is, is said in words that only the store knows. */
function isToldRun(value: unknown): value is { message: string } {
  if (typeof value !== "object" || value === null) return false;
  return "runId" in value && "message" in value && value.message !== "…";
}

/** Why an effect can't be told is said in words that only the store knows. */
function isEffect(value: unknown): value is StoredEffect {
  return (
    typeof value === "object" &&
    value !== null &&
    "requestFingerprint" in value &&
    !("reason" in value && value.reason === "…")
  );
}

function shownClaim(claimed: Claimed): unknown {
  const { project, manager, resource, run, cause, attempts, crashAttempts, expiresAt } = claimed;
  return { project, manager, resource, run, cause, attempts, crashAttempts, expiresAt };
}

/** Plays a story on SQLite and on the reference model, and compares after every step. */
export async function playBoth(
  story: Step[],
  check: (driver: Driver) => Promise<void> = async () => undefined,
): Promise<void> {
  const clock = new ManualClock();
  const path = newDatabaseFile();
  const { store } = sqliteStore({ path, clock });
  const real = new Side(store, clock);
  const model = new Side(new ReferenceStore(clock), clock);
  for (const side of [real, model]) await side.driver.begin(...MANAGERS);
  for (const [index, step] of story.entries()) {
    if (step.do === "wait") clock.advance(step.ms);
    const label = { index, step };
    const both = [await real.take(step), await model.take(step)];
    expect({ ...label, result: both[0] }).toEqual({ ...label, result: both[1] });
    const seen = [await real.look(), await model.look()];
    expect({ ...label, after: seen[0] }).toEqual({ ...label, after: seen[1] });
    await check(real.driver);
  }
  await store.close();
  removeDatabase(path);
}
