import * as crypto from "node:crypto";
import path from "node:path";
import { makePlan } from "../src/apply/make-plan.ts";
import { apply } from "../src/apply/apply.ts";
import type { Target } from "../src/apply/target.ts";
import { canonicalJson, fingerprintText } from "../src/model/canonical.ts";
import type { Desired, LoadedSpecs } from "../src/model/manifest.ts";
import type { Plan } from "../src/model/plan.ts";
import { check, interleave, median, medianRatio, milliseconds } from "./harness.ts";
import type { Benchmark } from "./harness.ts";
import { widget, widgetKey } from "./project.ts";
import { RawStore } from "./raw.ts";
import { makeLane, open, PROJECT } from "./store.ts";
import { makeWorkspace } from "./workspace.ts";

const OWNER = { kind: "apply", name: "bench" } as const;

/**
 * P7: what it costs to find that nothing is to be done: canonical form, hash, snapshot, plan and
 * apply, beside reading the same rows and hashing the same specs in a bare loop. Reading and checking
 * the files is P8's.
 */
export const p7: Benchmark = {
  name: "P7",
  what: "apply of 10,000 unchanged resources",
  async run({ quick }) {
    const count = quick ? 1_000 : 10_000;
    const file = path.join(makeWorkspace(), "state.sqlite");
    await makeLane(file);
    const store = await open(file);
    const target: Target = {
      snapshot: (project) => store.snapshot(project),
      specs: (uids) => store.specs(uids),
      acceptManagers: async () => [],
      acceptWorkflows: async () => [],
      commit: (batch) => store.applyBatch(batch),
    };
    const specs = Array.from({ length: count }, (_, index) => widget(index));
    const planNow = (): Promise<Plan> =>
      makePlan(target, load(specs), { project: PROJECT, owner: OWNER });
    await apply(await planNow(), target, []);
    const raw = new RawStore(file);

    const samples = await interleave(quick ? 5 : 11, {
      raw: () => {
        const begun = performance.now();
        const rows = raw.readAll();
        const hashes = specs.map((spec) => crypto.hash("sha256", JSON.stringify(spec)));
        const ms = performance.now() - begun;
        check(rows.length === count && hashes.length === count, "raw reads and hashes all");
        return ms;
      },
      apply: async () => {
        const begun = performance.now();
        const plan = await planNow();
        const receipt = await apply(plan, target, []);
        const ms = performance.now() - begun;
        check(plan.counts.unchanged === count, "all are unchanged");
        check(
          receipt.actions.every(({ outcome }) => outcome === "skipped"),
          "nothing is written",
        );
        return ms;
      },
    });
    raw.close();
    await store.close();
    return [
      {
        goal: "P7",
        what: `apply of ${count.toLocaleString("en")} unchanged resources, once loaded`,
        value: medianRatio(samples.apply, samples.raw),
        unit: "× raw",
        limit: { atMost: 2 },
        absolute: `${milliseconds(median(samples.apply))} (read and hash: ${milliseconds(median(samples.raw))})`,
      },
    ];
  },
};

function load(specs: readonly object[]): LoadedSpecs {
  const desired = specs.map((value, index): Desired => {
    const spec = canonicalJson(value);
    const key = widgetKey(index);
    return {
      resourceManager: "widget",
      key,
      spec,
      specHash: fingerprintText(spec),
      initialStatus: "{}",
      labels: {},
      dependsOn: [],
      place: { file: `${key}.resource.json`, line: 1, column: 1 },
    };
  });
  return { desired, managers: [], problems: [], files: [] };
}
