import { readFileSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { PiWorkflowsError } from "../../src/model/errors.ts";
import { LIMITS } from "../../src/model/limits.ts";
import { TerminalError } from "../../src/resource-managers/results.ts";
import { memoryHost, never, passOf, type MemoryHost } from "./support/host.ts";
import { AUTHORING, reconcileBundle, useTestPools, type TestPool } from "./support/pool.ts";
import { until } from "./support/processes.ts";

const testPool = useTestPools();

async function run(reconcile: string, host: MemoryHost = memoryHost(), spec: unknown = {}) {
  const test = testPool();
  test.bundle("a", reconcileBundle(reconcile));
  return test.pool.run(passOf("a", { spec }), host, never());
}

describe("a pass in a runner", () => {
  it("gets the resource as it was read, and its own context", async () => {
    const outcome = await run(
      `return ctx.settled({ resourceManagerStatus: {
         spec: resource.spec, uid: resource.metadata.uid, project: ctx.project, cause: ctx.event.cause } });`,
      memoryHost(),
      { text: "ünï\n\u2028", list: [1, null] },
    );

    expect(outcome).toEqual({
      kind: "settled",
      resourceManagerStatus: {
        spec: { text: "ünï\n\u2028", list: [1, null] },
        uid: "uid-1",
        project: "/project",
        cause: "spec",
      },
    });
  });

  it("carries a spec and a status at their limits", async () => {
    const spec = "\\".repeat(LIMITS.spec / 2 - 1);

    const outcome = await run(
      `return ctx.settled({ resourceManagerStatus: resource.spec });`,
      memoryHost(),
      spec,
    );

    expect(outcome).toEqual({ kind: "settled", resourceManagerStatus: spec });
  });

  it("reaches every service of the host", async () => {
    const host = memoryHost();
    const outcome = await run(
      `await ctx.finalizers.add("probe/cleanup");
       await ctx.events.emit({ type: "Normal", reason: "Seen", message: "hello", payload: { n: 1 } });
       const run = await ctx.workflows.ensure({ requestKey: "r", workflow: "w", input: { a: 1 } });
       const effect = await ctx.effects.ensure({ key: "k", kind: "t", request: { n: 1 },
         observe: () => { throw new Error("must not be called"); },
         apply: async (signal, call) => ({ externalRef: "ref", result: { call: call.attempt } }) });
       const found = await ctx.workflows.get("r");
       const unknown = String(await ctx.workflows.get("other"));
       const cancelled = await ctx.workflows.cancel("r");
       await ctx.finalizers.remove("probe/cleanup");
       return ctx.settled({ resourceManagerStatus: { run, effect, found, unknown, cancelled } });`,
      host,
    );

    expect(outcome).toMatchObject({
      kind: "settled",
      resourceManagerStatus: {
        run: { requestId: "request-r", state: "running" },
        effect: { state: "applied", externalRef: "ref", result: { call: 1 } },
        found: { requestId: "request-r", state: "running" },
        unknown: "undefined",
        cancelled: { requestId: "request-r", state: "failed" },
      },
    });
    expect(host.events).toEqual([
      { type: "Normal", reason: "Seen", message: "hello", payload: { n: 1 } },
    ]);
    expect(host.finalizers.size).toBe(0);
  });

  it("makes more calls at once than are answered at once", async () => {
    const host = memoryHost();
    const outcome = await run(
      `await Promise.all(Array.from({ length: 200 }, (_, n) =>
         ctx.events.emit({ type: "Normal", reason: "N", message: String(n) })));
       return ctx.settled();`,
      host,
    );

    expect(outcome.kind).toBe("settled");
    expect(host.events.map(({ message }) => Number(message))).toEqual([...Array(200).keys()]);
  });

  it("sees the host's errors as what they are", async () => {
    const host = memoryHost();
    host.setFinalizer = () =>
      Promise.reject(
        new PiWorkflowsError("DELETING", "it is being deleted", { details: { a: 1 } }),
      );
    host.ensureWorkflow = () => Promise.reject(new TerminalError("this server runs no workflows"));

    const outcome = await run(
      `const { code, message, hint, details } = await ctx.finalizers.add("x").catch((error) => error);
       ctx.log.info("seen", { code, message, hint, details });
       await ctx.workflows.ensure({ requestKey: "r", workflow: "w", input: 1 });`,
      host,
    );

    expect(host.lines[0]?.fields).toMatchObject({
      code: "DELETING",
      message: "it is being deleted",
      details: { a: 1 },
    });
    expect(outcome).toMatchObject({
      kind: "failed",
      terminal: true,
      message: "this server runs no workflows",
    });
  });

  it("tells what the author's own copies of the error classes mean", async () => {
    expect(await run(`throw new TerminalError("no");`)).toMatchObject({
      kind: "failed",
      terminal: true,
    });
    expect(
      await run(
        `await ctx.effects.ensure({ key: "k", kind: "t", request: 1, observe() {},
           apply() { throw new EffectRejected("closed"); } });`,
      ),
    ).toMatchObject({ kind: "failed", terminal: true, message: "closed" });
  });

  it("logs what the author prints, at its level", async () => {
    const host = memoryHost();
    await run(
      `console.log("a %s", "b", { c: 1 }); console.warn("w"); console.error("e"); console.debug("d");
       ctx.log.info("i", { n: 1 }); ctx.log.info("big", { text: "x".repeat(10_000) }); ctx.log.info("odd", { n: 1n });
       return ctx.settled();`,
      host,
    );

    expect(host.lines).toEqual([
      { level: "info", message: "a b { c: 1 }", fields: {} },
      { level: "warn", message: "w", fields: {} },
      { level: "error", message: "e", fields: {} },
      { level: "debug", message: "d", fields: {} },
      { level: "info", message: "i", fields: { n: 1 } },
      { level: "info", message: "big", fields: { fieldsLeftOut: "10011 bytes" } },
      { level: "info", message: "odd", fields: { fieldsLeftOut: "not JSON" } },
    ]);
  });

  it("tells where in the author's own file an error was thrown", async () => {
    const test = testPool();
    const source = `
      import { defineResourceManager } from ${JSON.stringify(AUTHORING)};
      type Nothing = { a: string };
      export default defineResourceManager<Nothing, Nothing>({
        name: "probe",
        initialStatus: () => ({ a: "" }),
        reconcile(): never {
          throw new Error("boom");
        },
      });`;
    await build({
      stdin: {
        contents: source,
        loader: "ts",
        sourcefile: "probe.resource-manager.ts",
        resolveDir: test.home,
      },
      bundle: true,
      format: "esm",
      sourcemap: "inline",
      external: ["file:*"],
      outfile: path.join(test.home, "a.mjs"),
    });

    const outcome = await test.pool.run(passOf("a"), memoryHost(), never());

    expect(outcome).toMatchObject({
      kind: "failed",
      message: "boom",
      stack: expect.stringMatching(/probe\.resource-manager\.ts:8:/),
    });
  });

  it("is named in the list of processes", async () => {
    const outcome = await run(`return ctx.settled({ resourceManagerStatus: process.title });`);

    expect(outcome).toMatchObject({ resourceManagerStatus: "pi-workflows runner probe" });
  });

  it("F-1: can't speak for the pass before it", async () => {
    const test = testPool();
    test.bundle(
      "a",
      reconcileBundle(
        `if (resource.spec.first) { globalThis.kept = ctx; return ctx.settled(); }
         const late = await globalThis.kept.finalizers.add("late").catch((error) => error.code);
         return ctx.settled({ resourceManagerStatus: late });`,
      ),
    );
    const host = memoryHost();
    await test.pool.run(passOf("a", { spec: { first: true } }), host, never());

    const outcome = await test.pool.run(passOf("a"), host, never());

    expect(outcome).toMatchObject({ kind: "settled", resourceManagerStatus: "LEASE_LOST" });
    expect(host.finalizers.size).toBe(0);
  });

  it("F-1: a forged message for another pass reaches no host", async () => {
    const test = testPool();
    test.bundle(
      "a",
      reconcileBundle(
        `writeSync(3, '{"type":"call","pass":9,"id":1,"method":"setFinalizer","params":{"name":"x","present":true}}\\n');
         return ctx.settled();`,
        `import { writeSync } from "node:fs";`,
      ),
    );
    const host = memoryHost();

    expect((await test.pool.run(passOf("a"), host, never())).kind).toBe("settled");
    expect(host.finalizers.size).toBe(0);
  });
});

/** Bytes that only this process uses. */
function privateBytes(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  return [...text.matchAll(/^Private_\w+:\s+(\d+) kB/gm)].reduce(
    (sum, [, kib]) => sum + Number(kib) * 1024,
    0,
  );
}

describe.runIf(process.platform === "linux")("a warm runner", () => {
  const MOST = 25 * 1024 * 1024;

  it("carries neither the schema library nor much else over a bare Node process", async () => {
    const test: TestPool = testPool();
    test.bundle(
      "a",
      reconcileBundle("return ctx.settled({ resourceManagerStatus: process.pid });"),
    );
    test.bundle("bare", "export default 1;");
    const pass = () => test.pool.run(passOf("a"), memoryHost(), never());
    let outcome = await pass();
    for (let n = 0; n < 500; n += 1) outcome = await pass();
    const pid = Number("resourceManagerStatus" in outcome && outcome.resourceManagerStatus);
    const { spawn } = await import("node:child_process");
    const bare = spawn(process.execPath, ["-e", "console.log(1); setInterval(() => {}, 1e6)"]);
    let up = false;
    bare.stdout.once("data", () => (up = true));
    await until(() => up);

    const over = privateBytes(pid) - privateBytes(bare.pid as number);
    bare.kill("SIGKILL");

    expect(over).toBeLessThan(MOST);
  });
});
