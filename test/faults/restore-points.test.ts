import { cpSync, existsSync, readdirSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { defineResourceManager } from "../../src/resource-managers/define.ts";
import { backup, isRestoring } from "../../src/server/backup.ts";
import { homeAt } from "../../src/server/home.ts";
import { createServer } from "../../src/server/index.ts";
import type { Client } from "../../src/server/protocol.ts";
import { creation, PROJECT } from "../server/hosting.ts";
import { untilTrue } from "../server/server-process.ts";
import { count } from "../support/figures.ts";
import {
  distinct,
  failingAt,
  killedAtEach,
  makeFolder,
  REFUSAL,
  sampled,
  STEP,
  usePoints,
  type Failed,
} from "./points.ts";

usePoints();
// The soak takes its time.
vi.setConfig({ testTimeout: 3_600_000 });

/** A provider that keeps what it was asked to do, and can be asked whether it did. */
function ordersOf(log: string[]) {
  return defineResourceManager({
    name: "orders",
    spec: z.object({ steps: z.number() }),
    initialStatus: () => ({}),
    async reconcile(ctx, { spec, metadata }) {
      for (let step = 1; step <= spec.steps; step += 1) {
        const name = `${metadata.key}:${step}`;
        await ctx.effects.ensure({
          key: `step:${step}`,
          kind: "order",
          request: { name },
          observe: async () => ({ state: log.includes(name) ? "applied" : "absent" }),
          apply: async () => void log.push(name),
        });
      }
      return ctx.settled();
    },
  });
}

async function put(client: Client, key: string, steps: number): Promise<void> {
  const present = await client.get({ project: PROJECT, resourceManager: "orders", key });
  const made = creation(key, { steps }, "orders");
  const change = present
    ? { ...made, kind: "update" as const, expected: present.resource.metadata.resourceVersion }
    : made;
  await client.commit({ project: PROJECT, changes: [change as typeof made] });
}

function serverOf(home: string, log: string[]) {
  return createServer({ home, project: PROJECT, managers: [ordersOf(log)], listen: false });
}

/** A folder with `home`, whose server was killed, and `backup`, after which much was done. */
async function behindTheWorld(): Promise<{ folder: string; log: string[]; ids: string[] }> {
  const log: string[] = [];
  const home = path.join(makeFolder("made"), "home");
  const server = serverOf(home, log);
  await server.start();
  const { client } = server;
  await put(client, "a", 2);
  await untilTrue(() => log.length === 2);
  const folder = makeFolder("under");
  await backup(home, path.join(folder, "backup"));
  await put(client, "a", 4);
  await put(client, "lost", 2);
  await untilTrue(() => log.length === 6);
  await untilTrue(async () => (await client.effects({ open: true })).length === 0);
  // As a kill leaves it: with a log that holds the latest.
  cpSync(home, path.join(folder, "home"), { recursive: true });
  await server.stop();
  return { folder, log, ids: ["a", "lost"] };
}

/** What of these holds is not read by the next start. */
const DRAFTS = /-shm$|\.(?:restoring|keeping)(?:-\w+)?$|\.(?:mjs|json)\.\d+$|\.log$/;

/** Which store is there, whole; it then does what is left to do, and nothing twice. */
async function storeIn(folder: string, done: readonly string[]): Promise<string> {
  const home = path.join(folder, "home");
  const log = [...done];
  const server = serverOf(home, log);
  await server.start();
  const { client } = server;
  const found: string[] = [];
  for (const key of ["a", "lost"]) {
    const stored = await client.get({ project: PROJECT, resourceManager: "orders", key });
    if (stored) found.push(JSON.stringify([key, stored.resource.spec, stored.labels]));
  }
  await put(client, "a", 5);
  await put(client, "lost", 3);
  await untilTrue(async () => {
    const open = await client.effects({ open: true });
    return open.length === 0 && (await client.queue({ project: PROJECT })).length === 0;
  });
  await server.stop();
  expect(log.toSorted()).toEqual(["a:1", "a:2", "a:3", "a:4", "a:5", "lost:1", "lost:2", "lost:3"]);
  expect(draftsIn(folder)).toEqual([]);
  for (const name of ["state.sqlite", ...readdirSync(home).filter(isKept)]) {
    if (name.endsWith("-wal")) continue;
    expect({ name, found: soundness(path.join(home, name)) }).toEqual({ name, found: ["ok"] });
  }
  return found.join(", ");
}

function draftsIn(folder: string): string[] {
  const names = readdirSync(path.join(folder, "home"));
  return names.filter((name) => /restor|keep/.test(name) && !isKept(name));
}

const isKept = (name: string): boolean => name.includes("before-restore");

function soundness(file: string): unknown[] {
  const database = new Database(file, { readonly: true });
  const found = database.prepare("PRAGMA integrity_check").pluck().all();
  const dangling = database.pragma("foreign_key_check") as unknown[];
  database.close();
  return [...found, ...dangling];
}

const OLD = '["a",{"steps":4},{"read":"late"}], ["lost",{"steps":2},{}]';
const RESTORED = '["a",{"steps":2},{}]';

/**
 * Writes once more, and keeps a reader at what was before, which keeps the log from being settled; ends
 * the reader unless it is to stay.
 */
function writeBehindReader(folder: string, isToStay: boolean): void {
  const { database } = homeAt(path.join(folder, "home"));
  const [reader, writer] = [new Database(database, { readonly: true }), new Database(database)];
  onTestFinished(() => void reader.close());
  reader.exec("BEGIN; SELECT count(*) FROM resource");
  reader.prepare("SELECT count(*) FROM resource").get();
  writer.exec(`UPDATE resource SET labels = '{"read":"late"}' WHERE key = 'a'`);
  writer.close();
  if (!isToStay) reader.close();
}

describe("a restore", () => {
  it("that was decided and killed is ended by a backup as well, which is of the restored store", async () => {
    const { folder, log } = await behindTheWorld();
    const places = await killedAtEach("restore", folder);
    const home = (place: string) => homeAt(path.join(place, "home"));
    const place = places.find((one) => existsSync(home(one).restored)) as string;
    const facts = await backup(home(place).path, path.join(place, "after"));
    expect(facts.resources).toBe(1);
    expect(await storeIn(place, log)).toBe(RESTORED);
  });

  it.each([
    ["", false],
    ["while somebody reads the store, ", true],
  ])(
    "E-12, P-7: %skilled before any change of a file leaves the old store or the restored one, whole, which repeats nothing",
    async (_, isRead) => {
      const { folder, log } = await behindTheWorld();
      writeBehindReader(folder, isRead);
      const places = await killedAtEach("restore", folder);
      count("kills within a restore", places.length);
      const all = sampled(distinct(places, DRAFTS));
      // With a reader only the end is another.
      const looked = isRead ? all.slice(-12) : all;
      const stores: string[] = [];
      const told: boolean[] = [];
      for (const place of looked) {
        told.push(isRestoring(homeAt(path.join(place, "home"))));
        stores.push(await storeIn(place, log));
      }
      const since = stores.indexOf(RESTORED);
      expect(since).toBeGreaterThan(0);
      expect(stores.slice(0, since)).toEqual(stores.slice(0, since).map(() => OLD));
      expect(stores.slice(since)).toEqual(stores.slice(since).map(() => RESTORED));
      // Told while it is under way, whether it is decided or not, and no longer.
      expect([told[since - 1], told[since], told.at(-1)]).toEqual([true, true, false]);
    },
  );

  it.each(["ENOSPC", "EIO"] as const)(
    "P-5, E-12: with %s from any change on says so, and leaves the one store or the other",
    async (error) => {
      const { folder, log } = await behindTheWorld();
      writeBehindReader(folder, false);
      const ends = await failingAt("restore", folder, { error, step: STEP });
      count("restores on a disk that fails", ends.length);
      const last = ends.pop() as Failed;
      expect(last.code).toBe(undefined);
      expect(await storeIn(last.place, log)).toBe(RESTORED);
      for (const { place, code, left } of ends) {
        expect({ left, code }).toEqual({ left, code: expect.stringMatching(REFUSAL) as string });
        const isDecided = code?.includes("is decided") === true;
        if (error === "ENOSPC" && !isDecided) expect(draftsIn(place)).toEqual([]);
        expect({ left, store: await storeIn(place, log) }).toEqual({
          left,
          store: isDecided ? RESTORED : OLD,
        });
      }
    },
  );
});
