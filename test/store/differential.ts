import { expect } from "vitest";
import { canonicalJson, fingerprint } from "../../src/model/canonical.ts";
import type { StoredEffect } from "../../src/model/effect.ts";
import { PiWorkflowsError } from "../../src/model/errors.ts";
import { Connection } from "../../src/store/sqlite/connection.ts";
import { createStore } from "../../src/store/sqlite/store.ts";
import type { Claimed, SettleReceipt } from "../../src/store/store.ts";
import { count } from "../support/figures.ts";
import { emptyDatabase } from "../support/memory-database.ts";
import { isRunStep, lookAtRuns, takeRunStep, type RunStep } from "./differential-runs.ts";
import { ReferenceStore } from "./reference.ts";
import { KEYS, MANAGERS, type Step } from "./stories.ts";
import {
  countedIds,
  Driver,
  ManualClock,
  ORIGIN,
  PROJECT,
  specWrite,
  type ModelledStore,
} from "./words.ts";

/** All that can be seen; `moved` names resources of another version than when it was looked at last. */
type Look = { moved: string[] } & Record<string, unknown>;

/** One of the two stores with the claims it has handed out. */
class Side {
  readonly driver: Driver;
  readonly #handed: Claimed[] = [];
  readonly #settled = new Map<Claimed, () => Promise<unknown>>();
  /** Uid to a name that both sides agree on. */
  readonly #names = new Map<string, string>();
  readonly #versions = new Map<string, number>();

  /** Differs whenever what can be seen may; undefined where that can't be told. */
  readonly #stamp: () => string | undefined;
  #seen: { stamp: string | undefined; look: Look } | undefined;

  constructor(
    store: ModelledStore,
    clock: ManualClock,
    stamp: () => string | undefined = () => undefined,
  ) {
    this.driver = new Driver(store, clock);
    this.#stamp = stamp;
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
    const stamp = this.#stamp();
    if (stamp === undefined || stamp !== this.#seen?.stamp) {
      this.#seen = { stamp, look: await this.#look() };
    } else this.#seen.look.moved = [];
    return this.#seen.look;
  }

  async #look(): Promise<Look> {
    const { store } = this.driver;
    // First, so that both sides name runs alike.
    const runs = this.#neutral(await lookAtRuns(this.driver));
    const resources = [];
    for (const manager of MANAGERS) {
      for (const key of KEYS) {
        const found = await store.get(this.driver.ref(key, manager));
        if (found) resources.push(found);
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
    const moved = resources
      .filter(({ resource }) => this.#moved(resource.metadata))
      .map(({ resource: { metadata } }) => `${metadata.resourceManager} ${metadata.key}`);
    const neutral = this.#neutral({ resources, lanes }) as object;
    return { runs, queue: shown, sorted, moved, ...neutral };
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
  const connection = new Connection(emptyDatabase());
  const ids = countedIds();
  const stamp = (): string => {
    const found = connection.get<{ changes: number }>("SELECT total_changes() AS changes");
    return `${found?.changes} at ${clock.now()}`;
  };
  const real = new Side(createStore(connection, { clock, ids }), clock, stamp);
  const model = new Side(new ReferenceStore(clock), clock);
  for (const side of [real, model]) await side.driver.begin(...MANAGERS);
  for (const [index, step] of story.entries()) {
    if (step.do === "wait") clock.advance(step.ms);
    const label = { index, step };
    expectSame(label, { result: await real.take(step) }, { result: await model.take(step) });
    expectSame(label, { after: await real.look() }, { after: await model.look() });
    await check(real.driver);
  }
  count("stories", 1);
  count("commands", story.length);
}

function expectSame(label: object, real: object, model: object): void {
  // Most are the same to the letter, which is told ten times faster.
  if (JSON.stringify(real) === JSON.stringify(model)) return;
  expect({ ...label, ...real }).toEqual({ ...label, ...model });
}
