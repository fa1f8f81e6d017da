import { writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll } from "vitest";
import type { Clock } from "../../../../src/model/ports.ts";
import type { PoolLimits } from "../../../../src/runner/pool.ts";
import type { RunNotice, RunOutcome, RunPass } from "../../../../src/runner/run-port.ts";
import { ensureBuilt } from "../../../support/dist.ts";
import { useTestPools, type TestPool } from "../../support/pool.ts";
import type { MemoryRunHost } from "./host.ts";

const ROOT = path.resolve(import.meta.dirname, "../../../..");
const urlOf = (file: string): string => pathToFileURL(path.join(ROOT, file)).href;

/** A pool whose bundles are workflows. */
export type RunPool = TestPool & {
  /** Writes the bundle `w`: `body` declares what `defineWorkflow` is given, as `definition`. */
  workflow(body: string): void;
  /** Executes one pass in a real runner. */
  execute(host: MemoryRunHost, parts?: Partial<RunPass>): Executing;
};

export type Executing = {
  outcome: Promise<RunOutcome>;
  notify: (notice: RunNotice) => void;
  abort: (fault: string) => void;
};

export function useRunPools(): (limits?: Partial<PoolLimits>, time?: Clock) => RunPool {
  const testPool = useTestPools();
  beforeAll(() => ensureBuilt("src/runner/child.ts", "src/workflows/index.ts"));
  return (limits, time) => {
    const test = testPool(limits, time);
    return {
      ...test,
      workflow: (body) => writeFileSync(path.join(test.home, "w.mjs"), bundleText(body)),
      execute(host, parts) {
        let notify: (notice: RunNotice) => void = () => {};
        const controller = new AbortController();
        const pass = host.pass(parts?.input ?? {}, { digest: "w", project: test.home, ...parts });
        const outcome = test.pool.execute(pass, host, {
          signal: controller.signal,
          onNotice: (listen) => (notify = listen),
        });
        return {
          outcome,
          notify: (notice) => notify(notice),
          abort: (fault) => controller.abort(fault),
        };
      },
    };
  };
}

function bundleText(body: string): string {
  return `
    import { action, agent, checkpoint, compute, decision, defineWorkflow, end, loop, parallel, shell }
      from ${JSON.stringify(urlOf("dist/workflows/index.js"))};
    import { z } from ${JSON.stringify(urlOf("node_modules/zod/index.js"))};
    import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
    import { setTimeout as sleep } from "node:timers/promises";
    ${body}
    export default defineWorkflow({ name: "probe", input: z.unknown(), output: z.unknown(), ...definition });`;
}

/** The body of a workflow of one node. */
export function one(node: string): string {
  return `
    const node = ${node};
    const definition = { startAt: "node", nodes: { node }, edges: { node: end("done") },
      exits: { done: ({ tryOutput }) => tryOutput(node) ?? null } };`;
}
