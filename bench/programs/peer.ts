// Runs no-op jobs through another queue and prints, as JSON, how many milliseconds it took.
// Arguments: folder with its packages, name, "drain" or "end-to-end", "NORMAL" or "FULL", jobs.
// A process of its own, because these queues leave timers behind.
import { createRequire } from "node:module";
import { mkdtempSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type Database from "better-sqlite3";
import { check, elapsed } from "../harness.ts";

type Queue = {
  add(index: number): Promise<void> | void;
  /** Resolves when `count` more jobs have been handled. */
  run(count: number): Promise<void>;
};

const [folder = ".", name = "", mode = "", synchronous = "", jobs = ""] = process.argv.slice(2);
const requireThere = createRequire(path.join(folder, "package.json"));
const count = Number(jobs);
const WARM_UP = 100;

const queue = await open(path.join(mkdtempSync(path.join(folder, "data-")), "queue.sqlite"));
for (let index = 0; index < WARM_UP; index += 1) await queue.add(index);
await queue.run(WARM_UP);

const fill = async () => {
  for (let index = 0; index < count; index += 1) await queue.add(index);
};
if (mode === "drain") await fill();
const ms = await elapsed(async () => {
  if (mode !== "drain") await fill();
  await queue.run(count);
});
console.log(JSON.stringify({ ms, jobs: count }));
process.exit(0);

function open(file: string): Promise<Queue> {
  if (name === "plainjob") return openPlainjob(file);
  check(name === "liteque", `a known queue, not ${name}`);
  return openLiteque(file);
}

async function openPlainjob(file: string): Promise<Queue> {
  type Worker = { start(): Promise<void>; stop(): Promise<void> };
  const { better, defineQueue, defineWorker } = (await importThere("plainjob")) as {
    better: (database: Database.Database) => object;
    defineQueue: (options: object) => { add(type: string, data: unknown): void };
    defineWorker: (type: string, handle: () => Promise<void>, options: object) => Worker;
  };
  const Driver = requireThere("better-sqlite3") as typeof Database;
  const database = new Driver(file);
  const quiet = () => undefined;
  const logger = { debug: quiet, info: quiet, warn: quiet, error: console.error };
  const jobQueue = defineQueue({ connection: better(database), logger });
  database.pragma(`synchronous=${synchronous}`);
  return {
    add: (index) => jobQueue.add("noop", { index }),
    run: async (wanted) => {
      let handled = 0;
      const worker = defineWorker("noop", async () => {}, {
        queue: jobQueue,
        logger,
        onCompleted: () => {
          handled += 1;
          if (handled === wanted) void worker.stop();
        },
      });
      await worker.start();
      check(handled === wanted, `plainjob handled ${handled} of ${wanted}`);
    },
  };
}

async function openLiteque(file: string): Promise<Queue> {
  const { buildDBClient, SqliteQueue, Runner } = (await importThere("liteque")) as {
    buildDBClient: (file: string, options: object) => { session: { client: Database.Database } };
    SqliteQueue: new (name: string, database: object, options: object) => Jobs;
    Runner: new (queue: Jobs, handlers: object, options: object) => Loop;
  };
  type Jobs = { enqueue(payload: object): Promise<unknown> };
  type Loop = { runUntilEmpty(): Promise<void> };
  const database = buildDBClient(file, { runMigrations: true });
  database.session.client.pragma(`synchronous=${synchronous}`);
  const jobQueue = new SqliteQueue("noop", database, {
    defaultJobArgs: { numRetries: 0 },
    keepFailedJobs: false,
  });
  return {
    add: async (index) => void (await jobQueue.enqueue({ index })),
    run: async (wanted) => {
      let handled = 0;
      const handlers = {
        run: async () => {},
        onComplete: async () => void (handled += 1),
        onError: async (job: { error: unknown }) => console.error(job.error),
      };
      const limits = { concurrency: 1, pollIntervalMs: 10, timeoutSecs: 60 };
      await new Runner(jobQueue, handlers, limits).runUntilEmpty();
      check(handled === wanted, `liteque handled ${handled} of ${wanted}`);
    },
  };
}

function importThere(packageName: string): Promise<unknown> {
  const root = path.join(folder, "node_modules", packageName);
  const manifest = requireThere(path.join(root, "package.json")) as { main?: string };
  const entry = packageName === "liteque" ? "dist/index.js" : (manifest.main ?? "index.js");
  return import(pathToFileURL(path.join(root, entry)).href);
}
