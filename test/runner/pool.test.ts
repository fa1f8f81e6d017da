import { describe, expect, it } from "vitest";
import { memoryHost, never, passOf } from "./support/host.ts";
import { reconcileBundle, useTestPools } from "./support/pool.ts";

const testPool = useTestPools();

const REPORT_PID = reconcileBundle(
  "return ctx.settled({ resourceManagerStatus: { pid: process.pid } });",
);

async function pidOf(test: ReturnType<typeof testPool>, digest: string): Promise<number> {
  const outcome = await test.pool.run(passOf(digest), memoryHost(), never());
  if (outcome.kind !== "settled") throw new Error(JSON.stringify(outcome));
  return (outcome.resourceManagerStatus as { pid: number }).pid;
}

describe("the runner pool", () => {
  it("runs a pass in a process of its own and keeps that for the next pass", async () => {
    const test = testPool();
    test.bundle("a", REPORT_PID);

    const first = await pidOf(test, "a");
    const second = await pidOf(test, "a");

    expect(first).not.toBe(process.pid);
    expect(second).toBe(first);
    expect(test.pool.stats()).toEqual({ alive: 1, busy: 0 });
  });
});
