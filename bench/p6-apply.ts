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
    const versions = new Map<string, number>();
    const rounds = quick ? 5 : 11;

    /** The batches of both in step, each with the specs of its own next batch. */
    const measure = (size: number, rawBatch: (specs: Spec[]) => void) => {
      const next = { raw: 0, product: 0 };
      return interleave(rounds, {
        raw: () => {
          const specs = specsOf((next.raw += 1), size);
          return rate(timed(() => rawBatch(specs)));
        },
        product: async () => {
          const specs = specsOf((next.product += 1), size);
          const { ms, receipt } = await apply(store, specs, versions);
          for (const { key, generation, resourceVersion } of receipt.items) {
            check(generation === size, `${key} is at generation ${size}`);
            versions.set(key, resourceVersion);
          }
          return rate(ms);
        },
      });
    };
    const samples = {
      create: await measure(1, (specs) => raw.insertBatch(lane, specs)),
      update: await measure(2, (specs) => raw.updateBatch(lane, specs)),
    };
    check((await store.info()).resources === raw.count("resource"), "both hold the same");
    await store.close();
    raw.close();
    return (["create", "update"] as const).map((name) => {
      const { product, raw: reference } = samples[name];
      return {
        goal: "P6",
        what: `apply of ${BATCH.toLocaleString("en")} ${name === "create" ? "new" : "changed"} resources of 1 KB, one batch`,
        value: medianRatio(product, reference),
        unit: "of raw",
        limit: { atLeast: 0.6 },
        absolute: `${perSecond(median(product))} (raw ${perSecond(median(reference))})`,
      };
    });
  },
};

function rate(ms: number): number {
  return BATCH / (ms / 1_000);
}

/** One batch; `size` is what differs from generation to generation. */
function specsOf(batch: number, size: number): Spec[] {
  return Array.from({ length: BATCH }, (_, index) => {
    const spec = canonicalJson(widget(index, size));
    return { key: `${batch}-${widgetKey(index)}`, spec, hash: fingerprintText(spec) };
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
