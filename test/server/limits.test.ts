import http from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ManagerRecord } from "../../src/model/batch.ts";
import { LIMITS } from "../../src/model/limits.ts";
import { defineResourceManager } from "../../src/resource-managers/define.ts";
import { createChanges } from "../../src/server/changes.ts";
import { capsOf, leaseFor, newLane, share } from "../../src/server/lanes.ts";
import { askForKeys } from "../../src/server/sources/waker.ts";
import { listenForWebhooks } from "../../src/server/sources/webhook-server.ts";
import { FakeRunner } from "./fake-runner.ts";
import { creation, host, PROJECT } from "./hosting.ts";
import { createIn, definition, makeBench } from "./scheduling.ts";
import { turns, VirtualClock } from "./virtual-clock.ts";

/** Lanes that want more than any server gives, one in each project. */
function greedy(...projects: string[]) {
  const more = { maxConcurrent: LIMITS.maxConcurrent, deadlineMs: LIMITS.deadlineMs };
  return projects.map((project, lane) =>
    newLane({ lane, project, name: "m", ...more } as ManagerRecord),
  );
}
const placesOf = (lanes: ReturnType<typeof greedy>, total?: number) =>
  share(lanes, capsOf(total)).reduce((sum, { places }) => sum + places, 0);

describe("passes at once", () => {
  it("LIMITS.concurrency: in all, where nothing else is said", () => {
    expect(placesOf(greedy("/a", "/b", "/c"))).toBe(LIMITS.concurrency);
    expect(placesOf(greedy("/a", "/b", "/c"), LIMITS.concurrency + 1)).toBe(LIMITS.concurrency + 1);
  });

  it("LIMITS.concurrencyPerProject: of one project, however many there may be in all", () => {
    const many = 4 * LIMITS.concurrencyPerProject;
    expect(placesOf(greedy("/a"), many)).toBe(LIMITS.concurrencyPerProject);
    expect(placesOf(greedy("/a", "/b"), many)).toBe(2 * LIMITS.concurrencyPerProject);
  });

  it("a server holds to both", async () => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const slow = defineResourceManager<unknown, object>({
      name: "slow",
      maxConcurrent: LIMITS.maxConcurrent,
      initialStatus: () => ({}),
      reconcile: async (ctx) => {
        await released;
        return ctx.settled();
      },
    });
    const { server } = await host({ managers: [slow], listen: false });
    onTestFinished(release);
    const most = Math.min(LIMITS.concurrency, LIMITS.concurrencyPerProject);
    const keys = Array.from({ length: most + 2 }, (_, key) => `k${key}`);
    const changes = keys.map((key) => creation(key, {}, "slow"));
    await server.client.commit({ project: PROJECT, changes });
    await turns();
    expect((await server.client.status()).passes).toMatchObject({ running: most });
    release();
  });
});

describe("claims", () => {
  it("LIMITS.claimMarginMs: outlive the deadline and both steps of the kill ladder by it", () => {
    const most = LIMITS.deadlineMs + 2 * LIMITS.killGraceMs + LIMITS.claimMarginMs;
    expect(leaseFor(greedy("/a"))).toBe(most);
  });

  it.each([
    ["at it", 0, 1],
    ["one past it", 1, 0],
  ])("LIMITS.claimMarginMs: are renewed with so much left, %s", async (_what, past, renewals) => {
    const renewed: string[] = [];
    const bench = await makeBench({
      wrap: (store) => ({
        ...store,
        renew: (claim, expiresAt) => {
          renewed.push(claim.uid);
          return store.renew(claim, expiresAt);
        },
      }),
    });
    // At the sixth heartbeat the claim has the margin left, and what is past it.
    const deadlineMs = 6 * LIMITS.heartbeatMs - 2 * LIMITS.killGraceMs + past;
    await bench.create(await bench.accept("m", { deadlineMs }), "a");
    await bench.clock.advance(6 * LIMITS.heartbeatMs);
    expect(renewed).toHaveLength(renewals);
    await bench.clock.advance(LIMITS.heartbeatMs);
    expect(renewed).toHaveLength(1);
  });

  it("LIMITS.maxDeadlineMs: that of the longest pass lasts as long as it was asked for", async () => {
    // The scheduler knows nothing of it, so that nothing renews it.
    const { store, clock } = await makeBench();
    const longest = { ...definition("m"), deadlineMs: LIMITS.maxDeadlineMs };
    const manager = await store.acceptManager("/p", longest);
    await createIn(store, manager, ["a"]);
    const { epoch } = await store.info();
    const leaseMs = leaseFor([newLane(manager)]);
    const lanes = [{ lane: manager.lane, max: 1 }];
    const claim = () => store.claim({ epoch, lanes, limit: 1, leaseMs });
    expect(await claim()).toHaveLength(1);
    await clock.advance(leaseMs - 1);
    await claim();
    expect(await store.queue({})).toMatchObject([{ crashAttempts: 0 }]);
    await clock.advance(1);
    await claim();
    expect(await store.queue({})).toMatchObject([{ crashAttempts: 1 }]);
  });
});

it("LIMITS.crashAttempts: a key whose runner dies is given up with the last of them", async () => {
  const bench = await makeBench();
  bench.runner.answer = () => ({ kind: "crashed", fault: "exit", message: "exited with code 1" });
  await bench.create(await bench.accept("m"), "a");
  const ref = { project: "/p", resourceManager: "m", key: "a" };
  const isStalled = async () =>
    (await bench.store.get(ref))?.resource.status.conditions.some(
      ({ type, status }) => type === "Stalled" && status === true,
    );
  while (bench.runner.begun.length < LIMITS.crashAttempts - 1)
    await bench.clock.advance(LIMITS.backoffFloorMs);
  expect(await isStalled()).toBe(false);
  while (bench.runner.begun.length < LIMITS.crashAttempts)
    await bench.clock.advance(LIMITS.backoffFloorMs);
  expect(await isStalled()).toBe(true);
  await bench.clock.advance(2 * LIMITS.backoffCapMs);
  expect(bench.runner.begun).toHaveLength(LIMITS.crashAttempts);
});

describe("the end of a server", () => {
  it("LIMITS.drainMs: passes may go on for so long, and are aborted then", async () => {
    const clock = new VirtualClock();
    let begun = false;
    let aborted = false;
    const slow = defineResourceManager<unknown, object>({
      name: "slow",
      deadlineMs: LIMITS.maxDeadlineMs,
      initialStatus: () => ({}),
      reconcile: async (ctx) => {
        begun = true;
        await new Promise<void>((resolve) =>
          ctx.signal.addEventListener("abort", () => {
            aborted = true;
            resolve();
          }),
        );
        return ctx.settled();
      },
    });
    const { server } = await host({ managers: [slow], listen: false, clock });
    await server.client.commit({ project: PROJECT, changes: [creation("a", {}, "slow")] });
    await turns();
    expect(begun).toBe(true);
    const stopped = server.stop();
    await clock.advance(LIMITS.drainMs - 1);
    expect(aborted).toBe(false);
    await clock.advance(1);
    expect(aborted).toBe(true);
    await stopped;
  });

  it("LIMITS.idleExitMs: it goes on for so long without work or clients, and no longer", async () => {
    const clock = new VirtualClock();
    const said: string[] = [];
    const info = (message: string): void => void said.push(message);
    const log = { debug: info, info, warn: info, error: info };
    const { server } = await host({ listen: false, clock, log, idleExitMs: LIMITS.idleExitMs });
    // Idle for some time, then used: what counts is the latest use.
    await clock.advance(3 * LIMITS.heartbeatMs);
    await server.client.hello();
    await clock.advance(LIMITS.idleExitMs - 1);
    expect(said.filter((line) => line.startsWith("The server stops"))).toEqual([]);
    await clock.advance(1);
    expect(said.filter((line) => line.startsWith("The server stops"))).toHaveLength(1);
    await server.stopped();
  });
});

describe("sources", () => {
  it("LIMITS.mapMs: a map is given so long", async () => {
    const runner = new FakeRunner();
    const bench = await makeBench();
    const record = await bench.accept("m");
    const services = {
      store: bench.store,
      clock: bench.clock,
      log: { debug() {}, info() {}, warn() {}, error() {} },
      wake: () => undefined,
      changes: createChanges(),
      runnerOf: () => runner,
      stopping: new AbortController().signal,
    };
    await askForKeys(services, record, 0, { kind: "files", paths: ["a"] });
    expect(runner.asked).toMatchObject([{ deadlineMs: LIMITS.mapMs }]);
  });

  it("LIMITS.webhookMs: Node's server is told to give a sender so long", async () => {
    const create = vi.spyOn(http, "createServer");
    syncBuiltinESMExports();
    onTestFinished(() => {
      create.mockRestore();
      syncBuiltinESMExports();
    });
    const listening = await listenForWebhooks(0, {
      admit: () => 404,
      receive: () => Promise.resolve({ status: 202, word: "accepted" }),
    });
    onTestFinished(() => listening.close());
    expect(create.mock.results[0]?.value).toMatchObject({
      requestTimeout: LIMITS.webhookMs,
      headersTimeout: LIMITS.webhookMs,
    });
  });
});
