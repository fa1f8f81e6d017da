import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { build } from "esbuild";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { openStore } from "../../src/store/sqlite/store.ts";
import type { ResourceManagerStore } from "../../src/store/store.ts";
import { count } from "../support/figures.ts";
import { countedIds, EFFECT, ManualClock, PROJECT } from "../store/words.ts";
import { Disk, readDiskLog, type Fate } from "./power.ts";
import { random, sized } from "./seeds.ts";
import { shim } from "./shim.ts";

const CUTS = sized("POWER_CUTS", 100);
/** Enough to see NORMAL lose. */
const NORMAL_CUTS = 20;
const ROUNDS = 60;

// The soak takes its time.
vi.setConfig({ testTimeout: 3_600_000 });
// In the tree, so that packages resolve.
const CHILD = path.resolve(`.test-results/power-child-${process.pid}.mjs`);
// What the power left is opened again and again; that needs no disk, whose syncs take their time.
const memory = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
const folder = mkdtempSync(path.join(memory, "pw-power-"));

beforeAll(async () => {
  await build({
    entryPoints: ["test/faults/power-child.ts"],
    outfile: CHILD,
    bundle: true,
    format: "esm",
    platform: "node",
    packages: "external",
    logLevel: "silent",
  });
});
afterAll(() => {
  rmSync(CHILD, { force: true });
  rmSync(folder, { recursive: true, force: true });
});

/** Works on a store until the power goes off; what the disk was told, in order. */
async function work(synchronous: "FULL" | "NORMAL"): Promise<ReturnType<typeof readDiskLog>> {
  const place = path.join(folder, synchronous);
  mkdirSync(place);
  const log = path.join(place, "log");
  const child = spawn(
    process.execPath,
    [CHILD, path.join(place, "state.sqlite"), String(ROUNDS), synchronous],
    { stdio: "inherit", env: { ...process.env, LD_PRELOAD: shim(), SHIM_LOG: log } },
  );
  expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
  return readDiskLog(log);
}

type Found = { lost: string[]; damage: string[]; acknowledged: number };

/** Turns the power off after so many ops, back on, and looks for what was acknowledged. */
async function cut(disk: Disk, fate: Fate): Promise<Found> {
  const place = mkdtempSync(path.join(folder, "cut-"));
  const file = disk.cutInto(place, fate);
  const acks = disk.acknowledged();
  const lost: string[] = [];
  const store = await openStore({ path: file, clock: new ManualClock(), ids: countedIds() });
  for (const ack of latest(acks)) if (!(await holds(store, ack))) lost.push(ack);
  await store.close();
  const database = new Database(file, { readonly: true });
  const found = database.pragma("integrity_check", { simple: true });
  const dangling = database.pragma("foreign_key_check") as unknown[];
  database.close();
  rmSync(place, { recursive: true });
  const damage = [...(found === "ok" ? [] : [String(found)]), ...dangling.map(String)];
  return { lost, damage, acknowledged: acks.length };
}

/** The last acknowledgement of each kind about each key: a later one speaks for those before. */
function latest(acks: readonly string[]): string[] {
  const about = new Map(acks.map((ack) => [ack.slice(0, ack.lastIndexOf(" ")), ack]));
  return [...about.values()];
}

async function holds(store: ResourceManagerStore, ack: string): Promise<boolean> {
  const [, kind, key, number] = /^(\w+) (.*) (\d+)$/.exec(ack) ?? [];
  if (kind === "opened") return true;
  if (key === undefined) throw new Error(`no acknowledgement: ${ack}`);
  const resourceManager = key.split(" ")[0] as string;
  const ref = { project: PROJECT, resourceManager, key };
  const resource = (await store.get(ref))?.resource;
  if (!resource) return false;
  if (kind === "spec") return (resource.spec as { number: number }).number >= Number(number);
  const effects = await store.effects({ uid: resource.metadata.uid });
  const effect = effects.find((one) => one.key === EFFECT.key);
  return kind === "applied" ? effect?.state === "applied" : effect !== undefined;
}

/** Cuts spread over the whole of the work; of what was not synced all, nothing, or some survives. */
async function cutOften(
  ops: ReturnType<typeof readDiskLog>,
  count: number,
  fates: readonly number[],
) {
  const opened = ops.findIndex(({ file }) => file === "acks");
  const next = random(1);
  const places = new Map<number, number>();
  for (let left = count; left > 0; left -= 1) {
    const place = opened + 1 + Math.floor(next() * (ops.length - opened - 1));
    places.set(place, (places.get(place) ?? 0) + 1);
  }
  const disk = new Disk();
  const all: Found[] = [];
  for (const [index, op] of ops.entries()) {
    disk.do(op);
    for (let times = places.get(index) ?? 0; times > 0; times -= 1) {
      const kept = fates[all.length % fates.length] as number;
      const chance = random(all.length);
      all.push(await cut(disk, () => chance() < kept));
    }
  }
  return {
    cuts: all.length,
    acknowledged: Math.max(...all.map(({ acknowledged }) => acknowledged)),
    losing: all.filter(({ lost }) => lost.length > 0),
    damaged: all.flatMap(({ damage }) => damage),
  };
}

describe("power loss: what was not synced is lost, torn, or written out of order", () => {
  it("E-1, P-4, P-7: FULL loses nothing that was acknowledged, and nothing is damaged", async () => {
    const ops = await work("FULL");
    const checkpoints = ops.filter(({ what, file }) => what === "S" && file === "state.sqlite");
    expect(checkpoints.length).toBeGreaterThan(2);
    const { cuts, acknowledged, losing, damaged } = await cutOften(ops, CUTS, [0, 0.5, 1]);
    expect({ losing, damaged }).toEqual({ losing: [], damaged: [] });
    expect(acknowledged).toBeGreaterThan(ROUNDS * 4);
    count("power cuts under FULL", cuts);
    count("acknowledgements that a cut could have lost, none of which it did", acknowledged);
  });

  it("P-4: NORMAL, which is not what runs, is seen to lose", async () => {
    const ops = await work("NORMAL");
    const { cuts, losing, damaged } = await cutOften(ops, NORMAL_CUTS, [0]);
    expect(damaged).toEqual([]);
    expect(losing.length).toBeGreaterThan(0);
    count("power cuts under NORMAL", cuts);
    count("power cuts under NORMAL that lost an acknowledgement", losing.length);
  });
});
