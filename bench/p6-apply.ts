import path from "node:path";
import type { ApplyChange, BatchReceipt } from "../src/model/batch.ts";
import { canonicalJson, fingerprintText } from "../src/model/canonical.ts";
import type { ResourceManagerStore } from "../src/store/store.ts";
import { check, interleave, median, medianRatio, perSecond } from "./harness.ts";
import type { Benchmark } from "./harness.ts";
import { widget, widgetKey } from "./project.ts";
import { RawStore } from "./raw.ts";
import { makeLane, open, PROJECT } from "./store.ts";
import { makeWorkspace } from "./workspace.ts";

const BATCH = 1_000;

type Spec = { key: string; spec: string; hash: string };

/** P6: one batch of new and one of changed resources, beside the same statements in a bare loop. */
export const p6: Benchmark = {
  name: "P6",
  what: "apply of new and of changed resources, one batch of 1,000",
  async run({ quick }) {
    const folder = makeWorkspace();
    const rawFile = path.join(folder, "raw.sqlite");
    const lane = await makeLane(rawFile);
    const raw = new RawStore(rawFile);
    const file = path.join(folder, "state.sqlite");
    await makeLane(file);
    const store = await open(file);
    let round = 0;
    let versions = new Map<string, number>();

    const rate = (ms: number): number => BATCH / (ms / 1_000);
    const samples = await interleave(quick ? 5 : 11, {
      rawCreate: () => {
        round += 1;
        const specs = specsOf(round, 1);
        const ms = timed(() => raw.insertBatch(lane, specs));
        return rate(ms);
      },
      create: async () => {
        const specs = specsOf(round, 1);
        const { ms, receipt } = await apply(store, specs, new Map());
        versions = new Map(receipt.items.map(({ key, resourceVersion }) => [key, resourceVersion]));
        return rate(ms);
      },
      rawUpdate: () => {
        const specs = specsOf(round, 2);
        return rate(timed(() => raw.updateBatch(lane, specs)));
      },
      update: async () => {
        const { ms, receipt } = await apply(store, specsOf(round, 2), versions);
        check(
          receipt.items.every(({ generation }) => generation === 2),
          "each has a new generation",
        );
        return rate(ms);
      },
    });
    check((await store.info()).resources === raw.count("resource"), "both hold the same");
    await store.close();
    raw.close();
    return (["create", "update"] as const).map((name) => {
      const reference = name === "create" ? samples.rawCreate : samples.rawUpdate;
      return {
        goal: "P6",
        what: `apply of ${BATCH.toLocaleString("en")} ${name === "create" ? "new" : "changed"} resources of 1 KB, one batch`,
        value: medianRatio(samples[name], reference),
        unit: "of raw",
        limit: { atLeast: 0.6 },
        absolute: `${perSecond(median(samples[name]))} (raw ${perSecond(median(reference))})`,
      };
    });
  },
};

function specsOf(round: number, size: number): Spec[] {
  return Array.from({ length: BATCH }, (_, index) => {
    const spec = canonicalJson(widget(index, size));
    return { key: `${round}-${widgetKey(index)}`, spec, hash: fingerprintText(spec) };
  });
}

async function apply(
  store: ResourceManagerStore,
  specs: Spec[],
  versions: Map<string, number>,
): Promise<{ ms: number; receipt: BatchReceipt }> {
  const changes = specs.map((spec) => changeOf(spec, versions.get(spec.key)));
  const begun = performance.now();
  const receipt = await store.applyBatch({ project: PROJECT, changes });
  const ms = performance.now() - begun;
  check(receipt.items.length === BATCH, "every resource is applied");
  return { ms, receipt };
}

function changeOf({ key, spec, hash }: Spec, version: number | undefined): ApplyChange {
  const write = {
    spec,
    specHash: hash,
    initialStatus: "{}",
    labels: {},
    dependsOn: [],
    prunable: true,
    suspended: false,
    origin: { owner: { kind: "apply" as const, name: "bench" }, file: `${key}.resource.json` },
  };
  return version === undefined
    ? { kind: "create", manager: "widget", key, write, expected: 0 }
    : { kind: "update", manager: "widget", key, write, expected: version };
}

function timed(work: () => void): number {
  const begun = performance.now();
  work();
  return performance.now() - begun;
}
