import { describe, expect, it } from "vitest";
import { LIMITS } from "../../src/model/limits.ts";
import type { MapHost, MapInput, MapOutcome, RunnerPort } from "../../src/runner/port.ts";
import { files, webhook } from "../../src/resource-managers/sources.ts";
import { createInProcessRunner } from "../../src/runner/in-process.ts";
import { memoryHost, never, passOf } from "./support/host.ts";
import { probe } from "./support/manager.ts";
import { clock, useTestPools } from "./support/pool.ts";
import { alive, until } from "./support/processes.ts";

const testPool = useTestPools();

/** A definition whose one source maps as `map` says. */
const mapBundle = (map: string, kind = "webhook", top = "") => `${top}
  export default defineResourceManager({
    name: "probe",
    initialStatus: () => ({}),
    reconcile: (ctx) => ctx.settled(),
    sources: [{ kind: "${kind}", map: async (input) => { ${map} } }],
  });`;

const hook: MapInput = { kind: "webhook", headers: { "x-id": "1" }, body: "{}" };

const ask = (
  runner: RunnerPort,
  input: MapInput = hook,
  more: { source?: number; deadlineMs?: number; signal?: AbortSignal } = {},
  host: MapHost = memoryHost(),
): Promise<MapOutcome> =>
  runner.map(
    {
      project: "/p",
      manager: { name: "probe", digest: "d" },
      source: more.source ?? 0,
      input,
      deadlineMs: more.deadlineMs ?? 10_000,
    },
    host,
    more.signal ?? never(),
  );

describe("a source's map in a runner", () => {
  it("gets what came and the environment, and returns keys, each once", async () => {
    const test = testPool();
    test.bundle(
      "d",
      mapBundle("return [input.headers['x-id'], input.body, typeof input.env.PATH, input.body];"),
    );
    expect(await ask(test.pool)).toEqual({ kind: "keys", keys: ["1", "{}", "string"] });
  });

  it("gets a changed resource, or the paths of changed files", async () => {
    const test = testPool();
    const { resource } = passOf("d");
    test.bundle(
      "d",
      mapBundle("return [input.resource.metadata.key, `${input.removed}`];", "watch"),
    );
    expect(await ask(test.pool, { kind: "watch", resource, removed: true })).toEqual({
      kind: "keys",
      keys: [resource.metadata.key, "true"],
    });
    const other = testPool();
    other.bundle("d", mapBundle("return input.map((path) => path.toUpperCase());", "files"));
    expect(await ask(other.pool, { kind: "files", paths: ["a", "b"] })).toEqual({
      kind: "keys",
      keys: ["A", "B"],
    });
  });

  it("shares its runner with passes, one at a time", async () => {
    const test = testPool({ concurrency: 1 });
    test.bundle("d", mapBundle("return [String(process.pid)];"));
    const [first, pass, second] = await Promise.all([
      ask(test.pool),
      test.pool.run(passOf("d"), memoryHost(), never()),
      ask(test.pool),
    ]);
    expect(first).toEqual(second);
    expect(pass).toEqual({ kind: "settled" });
    expect(test.pool.stats()).toEqual({ alive: 1, busy: 0 });
  });

  it("may log", async () => {
    const test = testPool();
    const host = memoryHost();
    test.bundle("d", mapBundle("console.log('seen', input.headers); return [];"));
    await ask(test.pool, hook, {}, host);
    expect(host.lines).toMatchObject([{ level: "info", message: "seen { 'x-id': '1' }" }]);
  });

  it.each([
    ["throws", "throw new Error('no signature')", { kind: "refused", message: "no signature" }],
    ["returns nothing", "", { kind: "invalid", message: expect.stringMatching(/array/) }],
    ["returns numbers", "return [1]", { kind: "invalid", message: expect.stringMatching(/key 0/) }],
    ["returns an empty key", "return ['']", { kind: "invalid" }],
    ["returns a key past the limit", `return ['x'.repeat(${LIMITS.key + 1})]`, { kind: "invalid" }],
    [
      "returns more keys than the limit",
      `return Array.from({ length: ${LIMITS.mappedKeys + 1} }, (_, i) => String(i))`,
      { kind: "invalid", message: expect.stringMatching(/at most/) },
    ],
    [
      "leaves an error that nobody catches",
      "setTimeout(() => { throw new Error('stray'); }); await new Promise(() => {});",
      { kind: "invalid", message: "stray" },
    ],
    ["exits", "process.exit(3)", { kind: "crashed", fault: "exit" }],
  ])("one that %s is one outcome", async (_what, map, outcome) => {
    const test = testPool();
    test.bundle("d", mapBundle(map));
    expect(await ask(test.pool)).toMatchObject(outcome);
  });

  it("as many and as long keys as the limits allow are fine", async () => {
    const test = testPool();
    test.bundle(
      "d",
      mapBundle(
        `return Array.from({ length: ${LIMITS.mappedKeys} }, (_, i) => String(i).padStart(${LIMITS.key}));`,
      ),
    );
    expect(await ask(test.pool)).toMatchObject({ kind: "keys" });
  });

  it.each([
    ["never ends", "await new Promise(() => setInterval(() => {}, 1e6));"],
    ["never lets go", "for (;;);"],
  ])("one that %s is killed at its deadline, and nothing of it is left", async (_what, map) => {
    const test = testPool();
    test.bundle("d", mapBundle(map));
    const outcome = await ask(test.pool, hook, { deadlineMs: 300 });
    expect(outcome).toMatchObject({ kind: "crashed", fault: "deadline" });
    const started = test.log.filter(({ message }) => message === "runner started");
    const pids = started.map(({ fields }) => Number(fields["pid"]));
    expect(pids).toHaveLength(1);
    expect(test.pool.stats()).toEqual({ alive: 0, busy: 0 });
    expect(pids.filter(alive)).toEqual([]);
  });

  it("one that is called off ends with the reason", async () => {
    const test = testPool();
    test.bundle("d", mapBundle("await new Promise(() => {});"));
    const controller = new AbortController();
    const asked = ask(test.pool, hook, { signal: controller.signal });
    await until(() => test.pool.stats().busy === 1);
    controller.abort("shutdown");
    expect(await asked).toMatchObject({ kind: "crashed", fault: "shutdown" });
  });

  it("can't ask the server for anything, or answer for a pass", async () => {
    const test = testPool();
    const text = JSON.stringify({
      type: "result",
      pass: 1,
      result: { kind: "settled" },
      rss: 1,
      retire: false,
    });
    test.bundle(
      "d",
      mapBundle(
        `writeSync(3, ${JSON.stringify(`${text}\n`)}); await new Promise(() => {});`,
        "webhook",
        `import { writeSync } from "node:fs";`,
      ),
    );
    expect(await ask(test.pool)).toMatchObject({ kind: "crashed", fault: "bad-message" });
  });
});

describe("a source's map in this process", () => {
  const hosted = (map: () => string[] | Promise<string[]>) =>
    createInProcessRunner([probe((ctx) => ctx.settled(), { sources: [webhook("w", map)] })], clock);

  it("gives the same outcomes", async () => {
    const refusing = () => Promise.reject(new Error("no"));
    const hanging = () => new Promise<string[]>(() => {});
    expect(await ask(hosted(() => ["a"]))).toEqual({ kind: "keys", keys: ["a"] });
    expect(await ask(hosted(refusing))).toEqual({ kind: "refused", message: "no" });
    expect(await ask(hosted(hanging), hook, { deadlineMs: 20 })).toMatchObject({
      kind: "crashed",
      fault: "deadline",
    });
  });

  it("is asked for by its place and its kind", async () => {
    const sources = [files("a"), webhook("w", () => ["b"])];
    const runner = createInProcessRunner([probe((ctx) => ctx.settled(), { sources })], clock);
    expect(await ask(runner, hook, { source: 1 })).toEqual({ kind: "keys", keys: ["b"] });
    expect(await ask(runner, hook, { source: 0 })).toMatchObject({ kind: "refused" });
    expect(await ask(runner, hook, { source: 7 })).toMatchObject({ kind: "refused" });
  });
});
