import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeAll } from "vitest";
import type { Clock, Log, LogFields } from "../../../src/model/ports.ts";
import { createRunnerPool, type PoolLimits } from "../../../src/runner/pool.ts";
import type { RunnerPort } from "../../../src/runner/port.ts";
import { ensureBuilt } from "../../support/dist.ts";

/** What a bundle imports to define its manager: the built authoring API. */
export const AUTHORING = pathToFileURL(
  path.resolve(import.meta.dirname, "../../../dist/resource-managers/index.js"),
).href;

/** Time as it is. */
export const clock: Clock = {
  now: () => Date.now(),
  monotonic: () => Math.floor(performance.now()),
  schedule(callback, delayMs) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};

export type LogLine = { level: string; message: string; fields: LogFields };

/** A log that is kept in memory. */
export function memoryLog(lines: LogLine[] = []): Log {
  const write =
    (level: string) =>
    (message: string, fields: LogFields = {}) => {
      lines.push({ level, message, fields });
    };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}

/** A pool over a temporary state folder. Its bundles are written by hand. */
export type TestPool = {
  pool: RunnerPort;
  home: string;
  log: LogLine[];
  /** Writes a bundle under `digest`: `body` is the inside of a module that exports a manager. */
  bundle(digest: string, body: string): void;
};

const pools: TestPool[] = [];

export function useTestPools(): (limits?: Partial<PoolLimits>, time?: Clock) => TestPool {
  beforeAll(() => ensureBuilt("src/runner/child.ts", "src/resource-managers/index.ts"));
  afterEach(async () => {
    for (const { pool, home } of pools.splice(0)) {
      await pool.stop();
      rmSync(home, { recursive: true, force: true });
    }
  });
  return (limits, time = clock) => {
    const home = mkdtempSync(path.join(tmpdir(), "pi-workflows-runner-"));
    const log: LogLine[] = [];
    const bundlePath = (digest: string): string => path.join(home, `${digest}.mjs`);
    const pool = createRunnerPool({
      home,
      token: `token-${path.basename(home)}`,
      bundlePath,
      env: { ...process.env, NODE_OPTIONS: "" },
      clock: time,
      log: memoryLog(log),
      limits: { killGraceMs: 200, ...limits },
    });
    const test: TestPool = {
      pool,
      home,
      log,
      bundle: (digest, body) => writeFileSync(bundlePath(digest), bundleText(body)),
    };
    pools.push(test);
    return test;
  };
}

/** A definition bundle with `reconcile` as given. */
export function reconcileBundle(reconcile: string, top = ""): string {
  return `${top}
    export default defineResourceManager({
      name: "probe",
      initialStatus: () => ({}),
      async reconcile(ctx, resource) { ${reconcile} },
    });`;
}

function bundleText(body: string): string {
  return `import { defineResourceManager, TerminalError, EffectRejected } from ${JSON.stringify(AUTHORING)};\n${body}`;
}
