import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { dumpOf } from "./dump.ts";
import { Driver, PROJECT, sqliteStore, temporaryFolder } from "./support.ts";

// Hundreds of processes, one after another.
vi.setConfig({ testTimeout: 600_000 });
// In the tree, so that packages resolve.
const CHILD = path.resolve(`.test-results/store-crash-child-${process.pid}.mjs`);

beforeAll(async () => {
  await build({
    entryPoints: ["test/store/crash-child.ts"],
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
});

type Line = { step?: string; dump?: string; points?: number; died?: string };
type Run = { file: string; lines: Line[]; steps: number; died: string | undefined };

/** Plays a story in a process that dies at its `dieAt`-th probe point; 0 lets it live. */
async function play(story: string, dieAt: number): Promise<Run> {
  const file = path.join(temporaryFolder(), "state.sqlite");
  const child = fork(CHILD, [file, story, String(dieAt)], { stdio: "inherit" });
  const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
  const log = existsSync(`${file}.log`) ? readFileSync(`${file}.log`, "utf8") : "";
  const lines = log
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line);
  const died = lines.find((line) => line.died !== undefined)?.died;
  expect({ code, signal }).toEqual(
    died === undefined ? { code: 0, signal: null } : { code: null, signal: "SIGKILL" },
  );
  return { file, lines, steps: lines.filter(({ step }) => step !== undefined).length, died };
}

describe("a server killed at any point of any operation", () => {
  it("A-10, D-1, D-2, D-4, E-1, F-1, G-8, P-7: leaves each operation whole or not at all, and none that it acknowledged undone", async () => {
    const reference = await play("life", 0);
    const states = reference.lines.flatMap(({ dump }) => (dump === undefined ? [] : [dump]));
    const points = reference.lines.at(-1)?.points ?? 0;
    expect(points).toBeGreaterThan(40);
    const runs = Array.from({ length: points }, (_, index) => index + 1);
    const lane = async () => {
      for (let dieAt = runs.shift(); dieAt !== undefined; dieAt = runs.shift()) {
        const { file, steps, died } = await play("life", dieAt);
        const found = states.indexOf(dumpOf(file));
        // What was acknowledged last, or one operation more: `begin` is two.
        const possible = died === undefined ? [] : [steps - 1, steps];
        const isWhole = possible.includes(found) || (steps === 1 && found === -1);
        expect({ dieAt, died, found, isWhole }).toMatchObject({ isWhole: true });
        await recovers(file);
      }
    };
    await Promise.all([lane(), lane()]);
  });

  it("R-1, R-2, D-2, F-1, F-7: leaves runs, their parents and what people said whole", async () => {
    const reference = await play("runs", 0);
    const states = reference.lines.flatMap(({ dump }) => (dump === undefined ? [] : [dump]));
    const points = reference.lines.at(-1)?.points ?? 0;
    expect(points).toBeGreaterThan(48);
    // Those of the first operations, which other stories have, are left out.
    const begun = reference.lines[1]?.points ?? 0;
    const runs = Array.from({ length: points - begun }, (_, index) => begun + index + 1);
    const lane = async () => {
      for (let dieAt = runs.shift(); dieAt !== undefined; dieAt = runs.shift()) {
        const { file, steps, died } = await play("runs", dieAt);
        const found = states.indexOf(dumpOf(file));
        expect({ dieAt, died, isWhole: [steps - 1, steps].includes(found) }).toMatchObject({
          isWhole: true,
        });
        await childRunsHold(file);
        await recovers(file);
      }
    };
    await Promise.all([lane(), lane()]);
  });

  it("A-10: leaves a large batch whole or not at all, and cleans up what it wrote ahead", async () => {
    const reference = await play("batch", 0);
    const points = reference.lines.at(-1)?.points ?? 0;
    const around = [1, 4, 5, 11, points - 3, points - 2, points - 1, points];
    for (const dieAt of around) {
      const { file, died } = await play("batch", dieAt);
      const { store, connection } = sqliteStore({ path: file });
      await store.beginEpoch();
      const count = (table: string) =>
        connection.get<{ count: number }>(`SELECT count(*) AS count FROM ${table}`)?.count;
      const expected = dieAt >= points - 1 ? 1_000 : 0;
      const found = ["resource", "spec_body", "generation", "queue"].map((table) => count(table));
      expect({ died, found, staged: count("staged_body") }).toEqual({
        died,
        found: [expected, expected, expected, expected],
        staged: 0,
      });
      await store.close();
    }
  });
});

describe("a server killed at any point of an operation of many transactions", () => {
  type Opened = ReturnType<typeof sqliteStore>;
  /** Looks at what was left, and at what the same operation then makes of it. */
  async function atEachPoint(story: string, look: (opened: Opened) => Promise<void>) {
    const points = (await play(story, 0)).lines.at(-1)?.points ?? 0;
    expect(points).toBeGreaterThan(6);
    const runs = Array.from({ length: points }, (_, index) => index + 1);
    const lane = async () => {
      for (let dieAt = runs.shift(); dieAt !== undefined; dieAt = runs.shift()) {
        const opened = sqliteStore({ path: (await play(story, dieAt)).file });
        const { database } = opened.connection;
        await opened.store.beginEpoch();
        expect(database.pragma("integrity_check", { simple: true })).toBe("ok");
        expect(database.pragma("foreign_key_check")).toEqual([]);
        await look(opened);
        await opened.store.close();
      }
    };
    await Promise.all([lane(), lane()]);
  }
  const counts = ({ connection }: Opened, ...tables: string[]) =>
    tables.map(
      (table) =>
        connection.get<{ count: number }>(`SELECT count(*) AS count FROM ${table}`)?.count ?? 0,
    );

  it("R-5, R-6: a repair goes on where it was, to the same end, and enqueues nothing twice", async () => {
    await atEachPoint("repair", async (opened) => {
      const [queued = 0] = counts(opened, "queue");
      expect(await opened.store.repair()).toEqual({ enqueued: 600 - queued });
      expect(counts(opened, "queue")).toEqual([600]);
      expect(await opened.store.repair()).toEqual({ enqueued: 0 });
    });
  });

  it("E-11: a prune of history leaves what was removed whole or not at all, and goes on to the same end", async () => {
    await atEachPoint("pruneHistory", async (opened) => {
      const [resources = 0, generations, bodies] = counts(
        opened,
        "resource",
        "generation",
        "spec_body",
      );
      // Each removed one has its spec and its deletion.
      expect({ generations, bodies }).toEqual({
        generations: 2 * resources - 1,
        bodies: resources,
      });
      expect(await opened.store.pruneHistory({ olderThanMs: -60_000 })).toEqual({
        resources: resources - 1,
        runs: 0,
      });
      expect(counts(opened, "resource", "generation", "spec_body", "queue")).toEqual([1, 1, 1, 1]);
    });
  });
});

/** no child run without its parent's link and finalizer, and none that ended in silence. */
async function childRunsHold(file: string): Promise<void> {
  const { store, clock } = sqliteStore({ path: file });
  const parent = await store.get(new Driver(store, clock).ref("a"));
  const [run] = (await store.runs({})).items;
  if (!parent) {
    expect(run).toMatchObject({ state: "failed" });
  } else {
    const { metadata, status } = parent.resource;
    expect(metadata.finalizers).toEqual(run ? ["pi-workflows/child-runs"] : []);
    expect(status.workflowRun).toEqual(
      run && { requestId: "repair", runId: run.runId, state: run.state, attempt: 1 },
    );
    const hasNews = run?.state === "waiting" || metadata.deletionTimestamp !== undefined;
    const queued = (await store.queue({ uid: metadata.uid })).length;
    if (hasNews) expect(queued).toBe(1);
    expect(run?.cancelling ?? false).toBe(metadata.deletionTimestamp !== undefined);
  }
  await store.close();
}

/** F-7, E-6, Q-2, R-6: what the next server makes of what it finds. */
async function recovers(file: string): Promise<void> {
  const { store, connection, clock } = sqliteStore({ path: file });
  expect(connection.database.pragma("integrity_check", { simple: true })).toBe("ok");
  expect(connection.database.pragma("foreign_key_check")).toEqual([]);
  const running = (await store.queue({ project: PROJECT })).filter(({ claimed }) => claimed);
  const driver = new Driver(store, clock);
  const { recovered } = await store.beginEpoch();
  expect(recovered).toBe(running.length);
  const queue = await store.queue({ project: PROJECT });
  expect(queue.filter(({ claimed }) => claimed)).toEqual([]);
  for (const { uid } of running) expect(queue.map((entry) => entry.uid)).toContain(uid);
  for (const { state } of await store.effects({ open: true })) expect(state).toBe("indeterminate");
  const stored = await store.get(driver.ref("a"));
  if (stored) {
    const { metadata, status } = stored.resource;
    const isPending = metadata.generation > status.observedGeneration;
    if (isPending) expect(queue.filter(({ uid }) => uid === metadata.uid)).toHaveLength(1);
    if (metadata.deletionTimestamp !== undefined) expect(metadata.finalizers).not.toEqual([]);
  }
  await store.close();
}
