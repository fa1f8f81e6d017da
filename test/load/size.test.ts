import path from "node:path";
import Database from "better-sqlite3";
import { expect, it, vi } from "vitest";
import { fillStore } from "../../bench/fill.ts";
import { makeLane, PROJECT } from "../../bench/store.ts";
import { LIMITS } from "../../src/model/limits.ts";
import { createServer } from "../../src/server/index.ts";
import { sized } from "../faults/seeds.ts";
import { tempFolder } from "../server/temp.ts";
import { count, worst } from "../support/figures.ts";
import { quantile, timed } from "./figures.ts";

const RESOURCES = sized("LOAD_RESOURCES", 10_000);
const EVENTS = sized("LOAD_EVENTS", 100_000);
const LOOKS = 50;

// The soak takes its time.
vi.setConfig({ testTimeout: 3_600_000 });

/** Events in the order of time, spread over all resources. */
function fillEvents(file: string, events: number): void {
  const database = new Database(file);
  database.pragma("synchronous = OFF");
  database.transaction(() => {
    const insert = database.prepare(`WITH RECURSIVE n (i) AS (
        SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < @count)
      INSERT INTO event (sequence, resource_id, type, reason, message, count, first_at, last_at)
      SELECT base + i, 1 + i % @resources, 'Normal', 'Seen', 'message ' || i, 1, @now, @now
      FROM n, (SELECT sequence AS base FROM store_state)`);
    insert.run({ count: events, resources: RESOURCES, now: Date.now() });
    database.prepare("UPDATE store_state SET sequence = sequence + ?").run(events);
  })();
  database.pragma("wal_checkpoint(TRUNCATE)");
  database.close();
}

it("a store of many resources and events: starts, lists all of them page by page, follows every event, and commits", async () => {
  const home = path.join(tempFolder(), "home");
  await createThenStop(home);
  const file = path.join(home, "state.sqlite");
  const lane = await makeLane(file);
  fillStore(file, { lane, from: 0, count: RESOURCES, queue: "none" });
  fillEvents(file, EVENTS);
  const server = createServer({ home, listen: false, concurrency: 1 });
  const startMs = await timed(() => server.start());
  const { client } = server;
  try {
    const pages: number[] = [];
    const seen = new Set<string>();
    for (let after: string | undefined = ""; after !== undefined;) {
      const query: object = after === "" ? {} : { after };
      const begun = performance.now();
      const page = await client.list({ project: PROJECT, limit: LIMITS.page, ...query });
      pages.push(performance.now() - begun);
      for (const { metadata } of page.items) seen.add(metadata.uid);
      after = page.next;
    }
    expect(seen.size).toBe(RESOURCES);

    let events = 0;
    let last = 0;
    let disorder = 0;
    const enough = new AbortController();
    const followMs = await timed(async () => {
      for await (const { sequence } of client.events({ after: 0 }, enough.signal)) {
        if (sequence <= last) disorder += 1;
        last = sequence;
        if ((events += 1) >= EVENTS) enough.abort();
      }
    });
    expect({ events, disorder }).toEqual({ events: EVENTS, disorder: 0 });

    const commits: number[] = [];
    const gets: number[] = [];
    for (let look = 0; look < LOOKS; look += 1) {
      const key = `w${String(Math.floor((look * RESOURCES) / LOOKS)).padStart(6, "0")}`;
      const ref = { project: PROJECT, resourceManager: "widget", key };
      gets.push(await timed(async () => expect(await client.get(ref)).toBeDefined()));
      commits.push(await timed(() => client.suspend(ref, true)));
    }
    count("resources of one store", RESOURCES);
    count("events of one store", EVENTS);
    worst("start with all of them, ms", startMs);
    worst("page of a list at p99, ms", quantile(pages, 0.99));
    worst("all events followed, ms", followMs);
    worst("get at p99, ms", quantile(gets, 0.99));
    worst("write at p99, ms", quantile(commits, 0.99));
  } finally {
    await server.stop();
  }
});

async function createThenStop(home: string): Promise<void> {
  const server = createServer({ home, listen: false });
  await server.start();
  await server.stop();
}
