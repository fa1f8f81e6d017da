import { beforeAll, describe, expect, it } from "vitest";
import { buildCommandLine, makeWorkspace, writeCounter, writeCounters } from "./command-line.ts";

beforeAll(buildCommandLine);

describe("suspend, resume, reconcile and delete", () => {
  const workspace = makeWorkspace();
  const { ok, json, run } = workspace;
  const passes = async (): Promise<number> => {
    const { resource } = await json<{
      resource: { status: { resourceManagerStatus: { passes: number } } };
    }>(["get", "counter", "a"]);
    return resource.status.resourceManagerStatus.passes;
  };
  beforeAll(async () => {
    writeCounters(workspace, ["a"]);
    await ok(["apply", "-f", "specs", "--wait"]);
  });

  it("reconcile causes one more pass", async () => {
    const before = await passes();
    expect(await ok(["reconcile", "counter", "a"])).toContain("counter a will be looked at now");
    await expect.poll(passes, { timeout: 20_000 }).toBe(before + 1);
    expect(await json(["reconcile", "counter"])).toEqual({ enqueued: 1 });
    await expect.poll(passes, { timeout: 20_000 }).toBe(before + 2);
  });

  it("a suspended resource takes a new spec, and is reconciled once it is resumed", async () => {
    expect(await ok(["suspend", "counter", "a"])).toBe("counter a is suspended\n");
    expect(await ok(["suspend", "counter", "a"])).toBe("counter a is already suspended\n");
    expect(await ok(["get"])).toMatch(/counter {2}a +True +Suspended/);
    await ok(["apply", "counter", "free", '{"value": 1}', "--wait"]);
    await ok(["resume", "counter", "a"]);
    await ok(["wait", "counter", "a"]);
  });

  it("names what is not there", async () => {
    for (const verb of [
      "suspend",
      "resume",
      "reconcile",
      "delete",
      "why",
      "describe",
      "wait",
      "history",
    ]) {
      const { code, stderr } = await run([verb, "counter", "nope"]);
      expect({ verb, code }).toEqual({ verb, code: 2 });
      expect(stderr).toMatch(/^error\[NOT_FOUND\]: there is no resource counter nope in /);
      expect(stderr).toContain("There is: a, free.");
    }
    expect((await run(["reconcile", "nobody"])).stderr).toContain("nobody has no resources in");
  });

  it("delete without finalizers removes at once", async () => {
    expect(await ok(["delete", "counter", "free", "--yes"])).toBe("counter free is gone\n");
    const receipt = await json(["delete", "counter", "a", "--yes"]);
    expect(receipt).toMatchObject({ removed: true, finalizers: [], unsettledEffects: [] });
    writeCounter(workspace, "a", 1);
    expect(await ok(["apply", "-f", "specs"])).toContain("1 created");
  });
});

describe("server", () => {
  const { ok, json, run } = makeWorkspace();

  it("starts once, says what it does, and stops", async () => {
    expect((await run(["server", "status"])).code).toBe(5);
    expect(await ok(["server", "stop"])).toBe("no server runs\n");
    expect((await run(["server", "logs"])).stderr).toContain("there is no log yet");
    const first = await json<{ pid: number; started: boolean }>(["server", "start"]);
    const second = await json<{ pid: number; started: boolean }>(["server", "start"]);
    expect([first.started, second.started]).toEqual([true, false]);
    expect(second.pid).toBe(first.pid);
    expect(await ok(["server", "status"])).toContain(`running       pid ${first.pid}`);
    expect(await json(["server", "status"])).toMatchObject({
      pid: first.pid,
      store: { resources: 0 },
    });
    expect(await ok(["server", "stop"])).toBe("stopped\n");
    expect(() => process.kill(first.pid, 0)).toThrow("ESRCH");
  });

  it("runs in the foreground until it is told to stop, and another one is refused", async () => {
    const running = run(["server", "run"]);
    await expect
      .poll(async () => (await run(["server", "status"])).code, { timeout: 20_000 })
      .toBe(0);
    const other = await run(["server", "run"]);
    expect(other.code).toBe(5);
    await ok(["server", "stop"]);
    expect((await running).code).toBe(0);
  });
});
