import { check, interleave, median, medianRatio, perSecond } from "./harness.ts";
import type { Benchmark, Figure, Options } from "./harness.ts";
import { applySpecs, startHost, type HostReport } from "./host.ts";
import { NOOP, ONE_EFFECT, SPEC_BYTES, makeProject } from "./project.ts";
import { RawPasses } from "./raw-passes.ts";
import { openRaw } from "./raw-store.ts";

const KEYS = 1_000;
const RUNNERS = 2;

/** P1: a pass that changes nothing, from the queue through a runner process and back. */
export const p1: Benchmark = {
  name: "P1",
  what: "no-op reconcile end to end through runner processes",
  run: async (options) => [
    await measurePasses(options, {
      goal: "P1",
      what: `no-op reconcile end to end, ${KEYS.toLocaleString("en")} keys, FULL, ${RUNNERS} runners`,
      effects: false,
      atLeast: 0.5,
    }),
  ],
};

/** P2: the same with one effect: two more durable writes. */
export const p2: Benchmark = {
  name: "P2",
  what: "reconcile with one applied effect",
  run: async (options) => [
    await measurePasses(options, {
      goal: "P2",
      what: `reconcile with one applied effect, ${KEYS.toLocaleString("en")} keys, FULL, ${RUNNERS} runners`,
      effects: true,
      atLeast: 0.4,
    }),
  ],
};

type Goal = { goal: string; what: string; effects: boolean; atLeast: number };

async function measurePasses({ quick }: Options, goal: Goal): Promise<Figure> {
  const project = makeProject(goal.effects ? ONE_EFFECT : NOOP, { concurrency: RUNNERS });
  const host = await startHost(project, RUNNERS);
  await applySpecs(host, project, KEYS);
  const raw = await openRaw({ count: KEYS, bytes: SPEC_BYTES });
  const rawPasses = new RawPasses(raw.store, raw.lane, RUNNERS);
  await rawPasses.start();
  let last: HostReport | undefined;
  let rawCommits = 0;

  const samples = await interleave(quick ? 5 : 11, {
    raw: async () => {
      const begun = performance.now();
      raw.store.enqueueAll(raw.lane);
      const { passes, commits } = await rawPasses.run(goal.effects);
      const ms = performance.now() - begun;
      rawCommits = commits;
      check(passes === KEYS && raw.store.count("queue") === 0, "raw settles every key");
      return KEYS / (ms / 1_000);
    },
    product: async () => {
      const { ms, report } = await host.reconcileAll(project, KEYS);
      last = report;
      await host.checkSettled();
      return KEYS / (ms / 1_000);
    },
  });
  rawPasses.stop();
  raw.store.close();
  await host.stop();
  return {
    goal: goal.goal,
    what: goal.what,
    value: medianRatio(samples.product, samples.raw),
    unit: "of raw",
    limit: { atLeast: goal.atLeast },
    absolute: `${perSecond(median(samples.product))} (raw ${perSecond(median(samples.raw))})`,
    detail: {
      commitsPerPass: (last?.commits ?? Number.NaN) / KEYS,
      rawCommitsPerPass: rawCommits / KEYS,
    },
  };
}
