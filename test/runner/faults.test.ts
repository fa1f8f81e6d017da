import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { LIMITS } from "../../src/model/limits.ts";
import { memoryHost, never, passOf, type MemoryHost } from "./support/host.ts";
import { reconcileBundle, useTestPools, type TestPool } from "./support/pool.ts";
import { alive, until } from "./support/processes.ts";

const testPool = useTestPools();

const FS = `import { closeSync, writeSync } from "node:fs";`;

const run = (test: TestPool, digest: string, deadlineMs = 10_000, host = memoryHost()) =>
  test.pool.run(passOf(digest, { deadlineMs }), host, never());

describe("P-2: each way a runner can die is one recorded outcome", () => {
  const FAULTS: [what: string, fault: string, message: RegExp, bundle: string][] = [
    [
      "an exit",
      "exit",
      /exited with code 3: its last words/,
      reconcileBundle(`process.stderr.write("its last words\\n"); process.exit(3);`),
    ],
    [
      "a signal",
      "signal",
      /SIGKILL/,
      reconcileBundle(`process.kill(process.pid, "SIGKILL"); await new Promise(() => {});`),
    ],
    [
      "a used-up heap",
      "out-of-memory",
      /heap/,
      reconcileBundle("const all = []; for (;;) all.push(new Array(1000).fill(ctx.now()));"),
    ],
    [
      "bytes that are no message",
      "bad-message",
      /not JSON/,
      reconcileBundle(`writeSync(3, "garbage\\n"); await new Promise(() => {});`, FS),
    ],
    [
      "a message of an unknown form",
      "bad-message",
      /invalid message/,
      reconcileBundle(`writeSync(3, '{"type":"hello"}\\n'); await new Promise(() => {});`, FS),
    ],
    [
      "a result of no pass",
      "bad-message",
      /result of no pass/,
      reconcileBundle(
        `writeSync(3, '{"type":"result","pass":7,"result":{"kind":"settled"},"rss":1,"retire":false}\\n');
         await new Promise(() => {});`,
        FS,
      ),
    ],
    [
      "a message over the limit",
      "oversized-message",
      /at most 65536/,
      reconcileBundle(`writeSync(3, "x".repeat(65_537)); await new Promise(() => {});`, FS),
    ],
    [
      "a closed channel",
      "bad-message",
      /closed its channel/,
      reconcileBundle(`closeSync(3); await new Promise(() => {});`, FS),
    ],
    ["a module that never ends", "never-ready", /300 ms/, "await new Promise(() => {});"],
    ["a module that blocks", "never-ready", /300 ms/, "for (;;) {}"],
    ["a module that throws", "load-failed", /no luck/, `throw new Error("no luck");`],
    ["a module that does not parse", "load-failed", /Unexpected/, "export default {{;"],
    [
      "a default export that is no manager",
      "load-failed",
      /defineResourceManager/,
      "export default {};",
    ],
    ["a module that exits", "exit", /code 4/, "process.exit(4);"],
    [
      "a deadline",
      "deadline",
      /no answer after 300 ms/,
      reconcileBundle("await new Promise(() => {});"),
    ],
  ];

  it.each(FAULTS)("P-2: %s is %s", async (_what, fault, message, bundle) => {
    const test = testPool({
      runnerMessage: 65_536,
      runnerHeapMiB: 40,
      ...(fault === "never-ready" ? { readyMs: 300 } : {}),
    });
    test.bundle("a", bundle);

    const outcome = await run(test, "a", fault === "deadline" ? 300 : 10_000);

    expect(outcome).toEqual({ kind: "crashed", fault, message: expect.stringMatching(message) });
    expect(test.pool.stats()).toEqual({ alive: 0, busy: 0 });
  });

  it("P-2: a bundle that is not there is load-failed", async () => {
    expect(await run(testPool(), "absent")).toMatchObject({
      kind: "crashed",
      fault: "load-failed",
    });
  });

  it("P-2: a runner that can't be started is never-ready", async () => {
    const test = testPool();

    expect(await run(test, "no-such-folder/absent")).toMatchObject({
      kind: "crashed",
      fault: "never-ready",
      message: expect.stringContaining("could not be started"),
    });
    expect(test.pool.stats()).toEqual({ alive: 0, busy: 0 });
  });

  it("runs passes where runners can't be recorded", async () => {
    const test = testPool();
    test.bundle("a", reconcileBundle("return ctx.settled();"));
    writeFileSync(path.join(test.home, "runners"), "in the way");

    expect(await run(test, "a")).toEqual({ kind: "settled" });
    expect(test.log).toContainEqual(expect.objectContaining({ message: "runner not recorded" }));
  });

  it("P-2: a flood of output neither blocks a runner nor grows the server", async () => {
    const test = testPool();
    test.bundle(
      "a",
      reconcileBundle(
        `for (let n = 0; n < 3000; n += 1) writeSync(1, "x".repeat(65_536));
         return ctx.settled();`,
        FS,
      ),
    );
    const before = process.memoryUsage().rss;

    const outcome = await run(test, "a", 60_000);
    const grown = process.memoryUsage().rss - before;
    await test.pool.stop();

    expect(outcome).toEqual({ kind: "settled" });
    // 192 MiB went through; what is kept of it is LIMITS.childOutput.
    expect(grown).toBeLessThan(96 * 1024 * 1024);
    const ended = test.log.find((line) => line.message === "runner ended");
    expect(String(ended?.fields["stdout"]).length).toBeLessThan(LIMITS.childOutput + 100);
    expect(ended?.fields["stdout"]).toContain("bytes left out");
  });

  it("P-2: a message without end is cut off at the limit", async () => {
    const test = testPool();
    test.bundle(
      "a",
      reconcileBundle(`for (;;) try { writeSync(3, "x".repeat(65_536)); } catch {}`, FS),
    );
    const before = process.memoryUsage().rss;

    const outcome = await run(test, "a");

    expect(outcome).toMatchObject({ kind: "crashed", fault: "oversized-message" });
    expect(process.memoryUsage().rss - before).toBeLessThan(96 * 1024 * 1024);
  });

  it("P-2: a flood of log lines reaches the host only as far as its share", async () => {
    const test = testPool();
    test.bundle(
      "a",
      reconcileBundle(
        `for (let n = 0; n < 100_000; n += 1) console.log("line", n); return ctx.settled();`,
      ),
    );
    const host = memoryHost();

    const outcome = await run(test, "a", 60_000, host);

    expect(outcome).toEqual({ kind: "settled" });
    const bytes = host.lines.reduce((sum, line) => sum + line.message.length, 0);
    expect(bytes).toBeLessThan(LIMITS.childOutput);
    expect(host.lines.at(-1)).toMatchObject({ level: "warn", message: "log of this pass cut" });
  });

  it("masks credentials in what a dying runner said", async () => {
    const test = testPool();
    const token = `ghp_${"a1B2".repeat(9)}`;
    test.bundle(
      "a",
      reconcileBundle(`console.error = 0; process.stderr.write("${token}"); process.exit(1);`),
    );

    const outcome = await run(test, "a");

    expect(JSON.stringify([outcome, test.log])).not.toContain(token);
    expect(outcome).toMatchObject({ message: expect.stringContaining("[redacted]") });
  });

  it("goes on with the next pass in a new runner", async () => {
    const test = testPool();
    test.bundle(
      "a",
      reconcileBundle(`if (resource.spec.die) process.exit(1); return ctx.settled();`),
    );

    const died = await test.pool.run(passOf("a", { spec: { die: true } }), memoryHost(), never());
    const lived = await test.pool.run(passOf("a", { spec: {} }), memoryHost(), never());

    expect([died.kind, lived.kind]).toEqual(["crashed", "settled"]);
  });
});

const SPAWN = `import { spawn } from "node:child_process";`;
const TELL = `const tell = (pids) =>
  ctx.events.emit({ type: "Normal", reason: "Pids", message: "", payload: pids });`;

function pidsOf(host: MemoryHost): number[] {
  return host.events.flatMap((event) => event.payload as number[]);
}

describe("F-5: when a pass has an outcome, nothing of it runs any more", () => {
  it("F-5: a reconcile that ignores its abort signal is dead", async () => {
    const test = testPool();
    test.bundle("a", reconcileBundle(`${TELL} await tell([process.pid]); for (;;) {}`));
    const host = memoryHost();

    const outcome = await run(test, "a", 500, host);

    const [pid] = pidsOf(host);
    expect(outcome).toMatchObject({ kind: "crashed", fault: "deadline" });
    expect(alive(pid as number)).toBe(false);
  });

  it("F-5: one that ignores SIGTERM too is dead", async () => {
    const test = testPool();
    test.bundle(
      "a",
      reconcileBundle(
        `${TELL} process.on("SIGTERM", () => {}); await tell([process.pid]); await new Promise(() => {});`,
      ),
    );
    const host = memoryHost();

    await run(test, "a", 500, host);

    expect(pidsOf(host).map(alive)).toEqual([false]);
  });

  const GRANDCHILD = `${TELL}
    const child = spawn(process.execPath, ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6)"], { stdio: "ignore" });
    await tell([process.pid, child.pid]);`;

  it.each([
    ["is stopped by its deadline", "await new Promise(() => {});", "crashed"],
    ["exits", "process.exit(1);", "crashed"],
    ["returns", "return ctx.settled();", "settled"],
    ["throws", `throw new Error("x");`, "failed"],
    ["returns, having unreferenced it,", "child.unref(); return ctx.settled();", "settled"],
  ])("F-5: a process left behind by a reconcile that %s is dead", async (_how, end, kind) => {
    const test = testPool();
    test.bundle("a", reconcileBundle(`${GRANDCHILD} ${end}`, SPAWN));
    const host = memoryHost();

    const outcome = await run(test, "a", 1_000, host);

    expect(outcome.kind).toBe(kind);
    expect(pidsOf(host).map(alive)).toEqual([false, false]);
  });

  it("F-5: a runner whose pass left an error behind is not used again", async () => {
    const test = testPool();
    test.bundle(
      "a",
      reconcileBundle(
        `setTimeout(() => { throw new Error("stray"); }, 1); await new Promise(() => {});`,
      ),
    );

    const outcome = await run(test, "a");

    expect(outcome).toMatchObject({ kind: "failed", message: "stray", terminal: false });
    expect(test.pool.stats().alive).toBe(0);
  });

  it("F-5: a promise that nobody awaited fails the pass that made it", async () => {
    const test = testPool();
    test.bundle(
      "a",
      reconcileBundle(`void Promise.reject(new Error("unawaited")); await new Promise(() => {});`),
    );

    expect(await run(test, "a")).toMatchObject({ kind: "failed", message: "unawaited" });
    await until(() => test.pool.stats().alive === 0);
  });
});
