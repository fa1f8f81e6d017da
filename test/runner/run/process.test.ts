import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { alive, until } from "../support/processes.ts";
import { MemoryRunHost } from "./support/host.ts";
import { one, useRunPools, type RunPool } from "./support/pool.ts";

const runPool = useRunPools();

function textIn(test: RunPool, name: string): string {
  try {
    return readFileSync(path.join(test.home, name), "utf8");
  } catch {
    return "";
  }
}

async function pidIn(test: RunPool, name: string): Promise<number> {
  await until(() => textIn(test, name).endsWith("\n"));
  return Number(textIn(test, name));
}

const WRITE_PID = `writeFileSync(project + "/runner", process.pid + "\\n")`;

describe("a run in a runner", () => {
  it("speaks to its host of all that it does, and leaves a warm runner", async () => {
    const test = runPool();
    test.workflow(
      one(`action({ safety: "idempotent", run: async ({ effects, idempotencyKey, log }) => {
        console.log("printed %d", 1);
        log.warn("logged", { n: 2 });
        const { result } = await effects.ensure({ key: "k", kind: "t", request: 1,
          observe: () => ({ state: "absent" }), apply: async () => ({ result: "made" }) });
        return [result, idempotencyKey.length];
      } })`),
    );
    const host = new MemoryRunHost();

    expect(await test.execute(host).outcome).toEqual({
      kind: "ran",
      ending: { state: "succeeded", exit: "done", output: ["made", 64] },
    });
    expect(host.said("log")).toBe('printed 1\nwarn: logged {"n":2}\n');
    expect(host.ledger.moves.map(({ to }) => to)).toEqual(["pending", "applied"]);
    expect(test.pool.stats()).toEqual({ alive: 1, busy: 0 });
  });

  it("takes up a pause and orders that come while it works, or before its runner is there", async () => {
    const test = runPool();
    test.workflow(`
      const first = compute({ run: async () => (await sleep(50), 1) });
      const definition = { startAt: "first", nodes: { first, ask: checkpoint({ message: "Go on?", answer: z.boolean() }) },
        edges: { first: "ask", ask: end("done") }, exits: { done: () => "gone on" } };`);
    const host = new MemoryRunHost();
    const paused = test.execute(host);
    paused.notify("pause");
    expect(await paused.outcome).toMatchObject({ ending: { state: "waiting", reason: "Paused" } });

    const second = test.execute(host);
    expect(await second.outcome).toMatchObject({
      ending: { state: "waiting", reason: "Checkpoint", node: "ask" },
    });
    expect(host.entries.at(-1)).toMatchObject({ event: "begun", input: { message: "Go on?" } });

    host.orders.answers.push({ node: "ask", ordinal: 1, value: true, by: "ann" });
    expect(await test.execute(host).outcome).toMatchObject({ ending: { output: "gone on" } });
  });

  it("whose agent is asked twice as many questions as calls are answered at once does not stand still", async () => {
    const test = runPool();
    test.workflow(`
      const names = Array.from({ length: 40 }, (_, i) => "a" + i);
      const nodes = Object.fromEntries(names.map((name) => [name, agent({ prompt: name, output: z.string() })]));
      const definition = { startAt: "fork",
        nodes: { fork: compute({ run: () => 0 }), join: compute({ run: () => 0 }), ...nodes },
        edges: { fork: parallel(names, { join: "join" }), join: end("done"), ...Object.fromEntries(names.map((name) => [name, "join"])) },
        exits: { done: ({ output }) => names.map((name) => output(nodes[name])).join("") } };`);
    const host = new MemoryRunHost();
    host.agent = ({ prompt }) => ({ state: "answered", value: prompt.slice(1) });
    expect(await test.execute(host).outcome).toMatchObject({
      ending: { output: Array.from({ length: 40 }, (_, i) => `${i}`).join("") },
    });
  });

  it("an error that nobody caught fails the node, and ends the runner", async () => {
    const test = runPool();
    test.workflow(
      one(`action({ safety: "idempotent", run: () => new Promise(() => {
        setTimeout(() => { throw new Error("stray"); }, 10); }) })`),
    );
    const host = new MemoryRunHost();
    expect(await test.execute(host).outcome).toMatchObject({
      ending: { state: "failed", reason: "NodeFailed", message: "node: stray" },
    });
    await until(() => test.pool.stats().alive === 0);
  });

  it("a definition that can't be used is said to be so", async () => {
    const test = runPool();
    test.workflow(`const definition = { startAt: "nowhere", nodes: {}, edges: {}, exits: {} };`);
    expect(await test.execute(new MemoryRunHost()).outcome).toMatchObject({
      kind: "crashed",
      fault: "load-failed",
      message: expect.stringContaining("nodes: must name at least one node"),
    });
  });
});

describe("a runner that is blocked by a node", () => {
  const loop = (safety: string) =>
    one(`action({ safety: "${safety}", timeout: "1s", run({ project }) {
      appendFileSync(project + "/begun", "x");
      for (;;);
    } })`);

  it("is ended, and the attempt has failed by its deadline: no runner makes it again", async () => {
    const test = runPool({ killGraceMs: 100 });
    test.workflow(loop("pure"));
    const host = new MemoryRunHost();

    expect(await test.execute(host).outcome).toMatchObject({ kind: "crashed", fault: "deadline" });
    expect(host.entries).toMatchObject([
      { event: "failed", node: "node", error: { reason: "DeadlineExceeded" }, retryable: true },
    ]);
    expect(await test.execute(host).outcome).toMatchObject({
      ending: { state: "failed", reason: "NodeFailed", node: "node" },
    });
    expect(textIn(test, "begun")).toBe("x");
  });

  it("by a manual one leaves it to a person", async () => {
    const test = runPool({ killGraceMs: 100 });
    test.workflow(loop("manual"));
    const host = new MemoryRunHost();

    expect(await test.execute(host).outcome).toMatchObject({ kind: "crashed", fault: "deadline" });
    expect(await test.execute(host).outcome).toMatchObject({
      ending: { state: "interrupted", reason: "Ambiguous", node: "node" },
    });
    expect(textIn(test, "begun")).toBe("x");
  });
});

describe("F-5: when a pass of a run is over, nothing of it runs", () => {
  const shellNode = `
    const before = compute({ run: ({ project }) => ${WRITE_PID} });
    const node = shell({ shell: "echo $$ > command; (setsid sh -c 'echo $$ > left; exec sleep 600' &); sleep 600" });
    const definition = { startAt: "before", nodes: { before, node }, edges: { before: "node", node: end("done") },
      exits: { done: () => 0 } };`;

  it.runIf(process.platform === "linux")(
    "not the command of a runner that was killed",
    async () => {
      const test = runPool();
      test.workflow(shellNode);
      const host = new MemoryRunHost();
      const { outcome } = test.execute(host);
      const pids = [await pidIn(test, "command"), await pidIn(test, "left")];
      process.kill(await pidIn(test, "runner"), "SIGKILL");

      expect(await outcome).toMatchObject({ kind: "crashed", fault: "signal" });
      expect(pids.filter(alive)).toEqual([]);
      expect(await test.execute(host).outcome).toMatchObject({
        ending: { state: "interrupted", reason: "Ambiguous" },
      });
    },
  );

  it.runIf(process.platform === "linux")("not one that was called off", async () => {
    const test = runPool();
    test.workflow(shellNode);
    const { outcome, abort } = test.execute(new MemoryRunHost());
    const pids = [await pidIn(test, "command"), await pidIn(test, "left")];
    abort("lease-lost");

    expect(await outcome).toMatchObject({ kind: "crashed", fault: "lease-lost" });
    expect(pids.filter(alive)).toEqual([]);
  });

  it("not code that was given up: its runner is not used again", async () => {
    const test = runPool();
    test.workflow(
      one(`action({ safety: "idempotent", timeout: "1s", run: ({ project }) => {
        ${WRITE_PID}; setInterval(() => {}, 1_000); return new Promise(() => {}); } })`),
    );
    const { outcome } = test.execute(new MemoryRunHost());
    expect(await outcome).toMatchObject({ ending: { reason: "NodeFailed" } });
    expect(alive(await pidIn(test, "runner"))).toBe(false);
  });
});
