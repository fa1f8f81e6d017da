import path from "node:path";
import { check, interleave, median, medianRatio } from "./harness.ts";
import type { Benchmark, Figure } from "./harness.ts";
import { fillStore } from "./fill.ts";
import { makeLane, open } from "./store.ts";
import type { Claimed, ResourceManagerStore } from "../src/store/store.ts";
import { makeWorkspace } from "./workspace.ts";

const SMALL = 100;
/** Keys claimed, and then settled, in one transaction each: a busy server's group. */
const GROUP = 50;
const GROUPS = 10;

type Subject = { store: ResourceManagerStore; epoch: number; lane: number };

/** P5: what claim and settle cost must not depend on how many keys are in the queue. */
export const p5: Benchmark = {
  name: "P5",
  what: "claim and settle with few and with a million keys in the queue",
  async run({ quick }) {
    const [many, most] = quick ? [1_000, 10_000] : [10_000, 1_000_000];
    const subjects = {
      few: await prepare(SMALL),
      many: await prepare(many),
      mostReady: await prepare(most),
      mostScattered: await prepare(most, { order: "scattered" }),
      mostWaiting: await prepare(SMALL, { waiting: most }),
    };
    const samples = await interleave(quick ? 5 : 9, {
      few: () => microseconds(subjects.few),
      many: () => microseconds(subjects.many),
      mostReady: () => microseconds(subjects.mostReady),
      mostScattered: () => microseconds(subjects.mostScattered),
      mostWaiting: () => microseconds(subjects.mostWaiting),
    });
    for (const { store } of Object.values(subjects)) await store.close();
    const cost = (name: keyof typeof samples): string => `${median(samples[name]).toFixed(0)} µs`;
    const figure = (name: keyof typeof samples, keys: string): Figure => ({
      goal: "P5",
      what: `claim + settle with ${keys} keys`,
      value: medianRatio(samples[name], samples.few),
      unit: `× with ${SMALL}`,
      absolute: `${cost(name)} a key (with ${SMALL}: ${cost("few")})`,
    });
    const limit = { atMost: 1.3 };
    return [
      { ...figure("many", `${many.toLocaleString("en")} ready`), limit },
      { ...figure("mostReady", `${most.toLocaleString("en")} ready`), limit },
      { ...figure("mostWaiting", `${most.toLocaleString("en")} waiting`), limit },
      // Each key is on pages of its own, so a group writes several times as many to the log.
      figure("mostScattered", `${most.toLocaleString("en")} ready, scattered`),
    ];
  },
};

async function prepare(
  ready: number,
  { waiting = 0, order = "ready" }: { waiting?: number; order?: "ready" | "scattered" } = {},
): Promise<Subject> {
  const file = path.join(makeWorkspace(), "state.sqlite");
  const lane = await makeLane(file);
  fillStore(file, { lane, from: 0, count: ready, queue: order });
  if (waiting > 0) fillStore(file, { lane, from: ready, count: waiting, queue: "waiting" });
  const store = await open(file);
  const { epoch } = await store.beginEpoch();
  return { store, epoch, lane };
}

/** Microseconds per key for claiming and settling; the keys are put back, which is not counted. */
async function microseconds({ store, epoch, lane }: Subject): Promise<number> {
  let ms = 0;
  for (let group = 0; group < GROUPS; group += 1) {
    const begun = performance.now();
    const claimed = await store.claim({
      epoch,
      lanes: [{ lane, max: GROUP }],
      limit: GROUP,
      leaseMs: 60_000,
    });
    const receipts = await Promise.all(claimed.map((one) => store.settle(settlement(one))));
    ms += performance.now() - begun;
    check(claimed.length === GROUP, `${GROUP} keys are claimed, not ${claimed.length}`);
    check(
      receipts.every(({ readyAt }) => readyAt === undefined),
      "settled keys leave the queue",
    );
    const marked = await store.enqueue(
      claimed.map(({ claim }) => ({ target: { uid: claim.uid }, cause: "request" })),
    );
    check(marked === GROUP, "the keys are put back");
  }
  return (ms * 1_000) / (GROUP * GROUPS);
}

function settlement({ claim, reconcileId, resource }: Claimed) {
  return {
    claim,
    reconcileId,
    observedGeneration: resource.metadata.generation,
    outcome: { kind: "settled" as const },
    startedAt: Date.now(),
    durationMs: 0,
    random: 0.5,
  };
}
