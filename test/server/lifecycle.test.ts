import { spawnSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { connect } from "../../src/server/client.ts";
import { homeAt, prepareHome, writeInfo } from "../../src/server/home.ts";
import { createServer } from "../../src/server/index.ts";
import { acquireLock } from "../../src/server/lock.ts";
import type { Client } from "../../src/server/protocol.ts";
import { host } from "./hosting.ts";
import {
  applySpecs,
  buildServer,
  eventually,
  isAlive,
  MAIN,
  makeProject,
  startServerProcess,
  untilTrue,
} from "./server-process.ts";
import { tempFolder } from "./temp.ts";

beforeAll(buildServer);

/** A manager whose passes last until the file named by the spec exists. */
const waiting = `
  const { existsSync } = await import("node:fs");
  while (!existsSync(resource.spec.until)) {
    if (ctx.signal.aborted) throw new Error("called off");
    await new Promise((done) => setTimeout(done, 10));
  }
  return ctx.settled();
`;
/** One that does not listen. */
const deaf = "await new Promise((done) => setTimeout(done, 600_000)); return ctx.settled();";

const running = async (client: Client) => (await client.status()).passes.running;

describe("one server per state folder", () => {
  it("F-8: a second start fails at once and names the first", async () => {
    const { home } = await host();
    const second = createServer({ home });
    await expect(second.start()).rejects.toMatchObject({
      code: "SERVER_RUNNING",
      message: expect.stringContaining(String(process.pid)),
    });
  });

  it("F-8: a second process fails at once, and the first goes on", async () => {
    const { home, client } = await startServerProcess();
    const env = { ...process.env, PI_WORKFLOWS_HOME: home };
    const second = spawnSync(process.execPath, [MAIN], { env, encoding: "utf8" });
    expect(second.status).toBe(5);
    expect(second.stderr).toMatch(/^error\[SERVER_RUNNING\]: Server \d+ /);
    expect((await client.hello()).home).toBe(home);
  });

  it("F-8: what a dead server left behind does not block a start, whoever has its pid now", async () => {
    const home = homeAt(path.join(tempFolder(), "home"));
    prepareHome(home);
    writeFileSync(home.lock, "");
    const socket = path.join(home.path, "server.sock");
    writeFileSync(socket, "");
    writeInfo(home, { pid: process.pid, version: "0.0.1", protocol: 1, startedAt: 0, socket });
    const { server } = await host({ home: home.path });
    expect(await server.client.hello()).toMatchObject({ pid: process.pid });
  });

  it("F-8: the lock is free again when it is released", () => {
    const home = homeAt(path.join(tempFolder(), "home"));
    prepareHome(home);
    const release = acquireLock(home);
    expect(() => acquireLock(home)).toThrow(expect.objectContaining({ code: "SERVER_RUNNING" }));
    release();
    acquireLock(home)();
  });

  it("F-7: after kill -9 the next server starts at once, and the old claims are void", async () => {
    const first = await startServerProcess();
    const project = makeProject({ waiting });
    const until = path.join(tempFolder(), "go");
    await applySpecs(first.client, project, "waiting", { a: { until } });
    await untilTrue(async () => (await running(first.client)) === 1);
    await first.end("SIGKILL");
    const second = await startServerProcess(first.home);
    await untilTrue(async () => (await running(second.client)) === 1);
    const [entry] = await second.client.queue({ project });
    expect(entry).toMatchObject({ claimed: true, crashAttempts: 1 });
    writeFileSync(until, "");
    await untilTrue(async () => (await second.client.queue({ project })).length === 0);
    const { uid } = (await second.client.snapshot(project)).resources[0] as { uid: string };
    const passes = await second.client.passes(uid);
    expect(passes.map(({ outcome }) => outcome)).toEqual(["settled", "crashed"]);
  });
});

describe("starting on demand", () => {
  /** Clients of servers in the background, which are stopped when the test ends. */
  async function demand(home: string): Promise<Client> {
    const client = await connect({ home, start: true });
    onTestFinished(async () => {
      const { pid } = await client.hello().catch(() => ({ pid: 0 }));
      await client.stop().catch(() => undefined);
      await client.close();
      if (pid > 0) await untilTrue(() => !isAlive(pid));
    });
    return client;
  }

  it("racing clients start one server", async () => {
    const home = path.join(tempFolder(), "home");
    const clients = await Promise.all(Array.from({ length: 5 }, () => demand(home)));
    const pids = await Promise.all(clients.map(async (client) => (await client.hello()).pid));
    expect(new Set(pids).size).toBe(1);
    expect(pids[0]).not.toBe(process.pid);
    expect(statSync(homeAt(home).log).mode & 0o777).toBe(0o600);
  });

  it("a server that stops is replaced", async () => {
    const home = path.join(tempFolder(), "home");
    const first = await demand(home);
    const { pid } = await first.hello();
    await first.stop();
    const second = await demand(home);
    expect((await second.hello()).pid).not.toBe(pid);
  });

  it("says why a server could not be started, with the end of its log", async () => {
    const home = homeAt(path.join(tempFolder(), "home"));
    prepareHome(home);
    writeFileSync(
      home.database,
      "this is no database, but long enough to be read as one".repeat(99),
    );
    await expect(connect({ home: home.path, start: true })).rejects.toMatchObject({
      code: "SERVER_UNREACHABLE",
      message: expect.stringMatching(/exit code \d+[\s\S]*STORE_CORRUPT/),
    });
  });
});

describe("ending", () => {
  it("a server without work or clients ends by itself", async () => {
    const { server } = await host({ idleExitMs: 50 });
    await server.stopped();
    await expect(server.client.hello()).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" });
  });

  it("P-3: SIGTERM lets running passes end, claims nothing more, and leaves no claim", async () => {
    const { client, end, home } = await startServerProcess();
    const project = makeProject({ waiting });
    const until = path.join(tempFolder(), "go");
    const specs = Object.fromEntries(
      Array.from({ length: 10 }, (_, key) => [`k${key}`, { until }]),
    );
    await applySpecs(client, project, "waiting", specs);
    await untilTrue(async () => (await running(client)) === 4);
    const ended = end("SIGTERM");
    await untilTrue(async () => (await client.hello()).stopping === true);
    await expect(client.repair()).rejects.toMatchObject({ code: "SERVER_STOPPING" });
    writeFileSync(until, "");
    expect(await ended).toEqual({ code: 0, signal: null });
    const { server } = await host({ home, managers: [], concurrency: 1 });
    const queue = await server.client.queue({ project });
    expect(queue.filter(({ crashAttempts }) => crashAttempts > 0)).toEqual([]);
  });

  it("P-3: a pass that does not end is aborted, then killed; its claim is settled", async () => {
    const { server, home } = await host({ managers: [], drainMs: 50 });
    const project = makeProject({ deaf });
    await applySpecs(server.client, project, "deaf", { a: {} });
    await untilTrue(async () => (await running(server.client)) === 1);
    const { uid } = (await server.client.snapshot(project)).resources[0] as { uid: string };
    await server.stop();
    const next = createServer({ home, listen: false, concurrency: 1, drainMs: 0 });
    onTestFinished(() => next.stop());
    await next.start();
    const [pass] = await next.client.passes(uid);
    expect(pass).toMatchObject({ outcome: "crashed", detail: expect.stringContaining("shutdown") });
  });

  it("a second signal ends it at once", async () => {
    const { client, child, end } = await startServerProcess();
    const project = makeProject({ deaf });
    await applySpecs(client, project, "deaf", { a: {} });
    await untilTrue(async () => (await running(client)) === 1);
    child.kill("SIGINT");
    await untilTrue(async () => (await client.hello()).stopping === true);
    expect(await end("SIGINT")).toEqual({ code: 1, signal: null });
  });

  it("a client can ask for it", async () => {
    const { client, child, home } = await startServerProcess();
    await client.stop();
    await untilTrue(() => child.exitCode === 0);
    await expect(connect({ home })).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" });
    expect(readFileSync(homeAt(home).log, "utf8")).toContain("The server serves");
    expect(() => statSync(path.join(home, "server.sock"))).toThrow(/ENOENT/);
  });

  it("start and stop may be called twice, in any order, at once", async () => {
    const { server, home } = await host();
    await Promise.all([server.start(), server.start()]);
    await Promise.all([server.stop(), server.start(), server.stop(), server.stop()]);
    await expect(connect({ home })).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" });
    await server.start();
    await eventually(async () => (await connect({ home })).close());
  });

  it("a start that fails half way leaves nothing behind", async () => {
    const home = homeAt(path.join(tempFolder(), "home"));
    prepareHome(home);
    writeFileSync(home.database, "not a database".repeat(200));
    const server = createServer({ home: home.path });
    await expect(server.start()).rejects.toMatchObject({ code: "STORE_CORRUPT" });
    acquireLock(home)();
    await server.stop();
  });
});
