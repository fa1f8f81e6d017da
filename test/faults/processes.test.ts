import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { groupRuns, startTimeOf } from "../../src/runner/process-table.ts";
import { RUNNER_TOKEN } from "../../src/runner/spawn.ts";
import type { Client } from "../../src/server/protocol.ts";
import {
  applySpecs,
  buildServer,
  isAlive,
  makeProject,
  untilTrue,
  writeDefinition,
} from "../server/server-process.ts";
import { tempFolder } from "../server/temp.ts";
import { count } from "../support/figures.ts";
import { makeThing, startProvider } from "./provider.ts";
import { childrenOf, FaultyServer, send } from "./server.ts";
import { shim } from "./shim.ts";

// On a slow machine each of many steps may take long.
vi.setConfig({ testTimeout: 600_000 });
beforeAll(buildServer);

/**
 * Says in `spec.folder` when a pass begins and ends, and whether another one of the same resource was
 * still alive; makes its thing; and stays until the file `go` is there.
 */
const stays = `
  const fs = await import("node:fs");
  const file = resource.spec.folder + "/passes";
  const say = (line) => fs.appendFileSync(file, line + "\\n");
  const lines = fs.existsSync(file) ? fs.readFileSync(file, "utf8").trim().split("\\n") : [];
  for (const pid of lines.filter((line) => line.startsWith("begin")).map((line) => Number(line.slice(6)))) {
    if (pid === process.pid || lines.includes("end " + pid)) continue;
    try { process.kill(pid, 0); say("overlap " + pid); } catch {}
  }
  say("begin " + process.pid);
  while (!fs.existsSync(resource.spec.folder + "/go") && !ctx.signal.aborted) {
    await new Promise((done) => setTimeout(done, 10));
  }
  ${makeThing.replace("return ctx.settled", 'say("end " + process.pid);\n  return ctx.settled')}
`;

type Board = { folder: string; go(): void; passes(word: string): number[] };
function makeBoard(): Board {
  const folder = tempFolder("board");
  const file = path.join(folder, "passes");
  return {
    folder,
    go: () => writeFileSync(path.join(folder, "go"), ""),
    passes: (word) =>
      (existsSync(file) ? readFileSync(file, "utf8").split("\n") : [])
        .filter((line) => line.startsWith(word))
        .map((line) => Number(line.slice(word.length + 1))),
  };
}

/** Wall time of a server and its runners, which can be set wrong while they run. */
function makeClock(): { env: NodeJS.ProcessEnv; set(offsetMs: number): void } {
  const file = path.join(tempFolder(), "clock");
  const set = (offsetMs: number): void => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(offsetMs));
    // In place: it is mapped into memory.
    writeFileSync(file, bytes, { flag: existsSync(file) ? "r+" : "w" });
  };
  set(0);
  return { env: { LD_PRELOAD: shim(), SHIM_CLOCK: file }, set };
}

async function untilReady(client: Client, project: string): Promise<void> {
  await untilTrue(
    async () => (await client.list({ project, notReady: true, limit: 1_000 })).items.length === 0,
  );
}

const HOUR_MS = 3_600_000;

describe("a process that is stopped", () => {
  it.each([
    ["a server that sleeps past its leases", false],
    ["a machine that sleeps, with server and runner,", true],
  ])("T-3, F-5, E-2: %s never has two passes of a key", async (_, sleeps) => {
    const [provider, board, clock] = [await startProvider(), makeBoard(), makeClock()];
    const server = await new FaultyServer({ env: clock.env }).start();
    const project = makeProject({ stays });
    const spec = { url: provider.url, seen: true, folder: board.folder };
    await applySpecs(server.client, project, "stays", { a: spec });
    await untilTrue(() => board.passes("begin").length === 1);
    const sleepers = [server.pid, ...(sleeps ? board.passes("begin") : [])];
    for (const pid of sleepers) send(pid, "SIGSTOP");
    // As a laptop that was closed for an hour.
    clock.set(HOUR_MS);
    for (const pid of sleepers) send(pid, "SIGCONT");
    await server.client.reconcile({ project, resourceManager: "stays" });
    board.go();
    await untilReady(server.client, project);
    expect(board.passes("overlap")).toEqual([]);
    expect([...provider.made().values()]).toEqual([1]);
    expect(await server.end("SIGTERM")).toEqual({ code: 0, signal: null });
  });

  it("T-3, F-5, E-2: a runner that sleeps past its deadline is gone before the next pass begins", async () => {
    const [provider, board] = [await startProvider(), makeBoard()];
    const server = await new FaultyServer().start();
    const project = makeProject({});
    writeDefinition(project, "stays", stays, "deadlineMs: 1_000,");
    const spec = { url: provider.url, seen: true, folder: board.folder };
    await applySpecs(server.client, project, "stays", { a: spec });
    await untilTrue(() => board.passes("begin").length === 1);
    const [first] = board.passes("begin") as [number];
    send(first, "SIGSTOP");
    await untilTrue(() => board.passes("begin").length === 2);
    expect(isAlive(first)).toBe(false);
    board.go();
    await untilReady(server.client, project);
    expect(board.passes("overlap")).toEqual([]);
    expect([...provider.made().values()]).toEqual([1]);
  });
});

describe("orphans", () => {
  it("P-1, E-2: a runner that outlived server and watch, and writes on, is dead before the next server's first pass", async () => {
    const [provider, board] = [await startProvider(), makeBoard()];
    const server = await new FaultyServer().start();
    const busy = `
      const fs = await import("node:fs");
      if (!fs.existsSync(resource.spec.folder + "/go")) {
        fs.appendFileSync(resource.spec.folder + "/passes", "begin " + process.pid + "\\n");
        for (;;) fs.appendFileSync(resource.spec.folder + "/written", "x");
      }
      ${makeThing}`;
    const project = makeProject({ busy });
    const spec = { url: provider.url, seen: true, folder: board.folder };
    await applySpecs(server.client, project, "busy", { a: spec });
    await untilTrue(() => board.passes("begin").length === 1);
    const [orphan] = board.passes("begin") as [number];
    onTestFinished(() => void send(orphan, "SIGKILL"));
    // The watch first: else it ends the runner as soon as the server is dead.
    for (const pid of childrenOf(server.pid)) {
      const isWatch = readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("lifeline");
      if (isWatch) send(pid, "SIGKILL");
    }
    await server.end("SIGKILL");
    expect(groupRuns(orphan)).toBe(true);
    board.go();
    await server.start();
    expect(groupRuns(orphan)).toBe(false);
    await untilReady(server.client, project);
    expect([...provider.made().values()]).toEqual([1]);
  });

  it("P-1, F-8: whoever has the number of a dead runner or server now is left alone", async () => {
    const home = path.join(tempFolder(), "home");
    const token = "token-of-a-dead-server";
    const strangers = [makeStranger({}), makeStranger({ [RUNNER_TOKEN]: token })] as const;
    const [other, heir] = strangers.map(({ pid }) => pid as number) as [number, number];
    const notes = [
      // The same number and time, but it never was a runner of that server.
      { pid: other, startTime: startTimeOf(other), token },
      // What a runner started, which got the number of another one later.
      { pid: heir, startTime: "1", token },
    ];
    mkdirSync(path.join(home, "runners"), { recursive: true, mode: 0o700 });
    for (const note of notes) {
      writeFileSync(path.join(home, `runners/${note.pid}.json`), JSON.stringify(note));
    }
    const info = { pid: other, version: "0.0.1", protocol: 1, startedAt: 0, socket: "/none" };
    writeFileSync(path.join(home, "server.json"), JSON.stringify(info));
    writeFileSync(path.join(home, "server.lock"), "");
    const server = await new FaultyServer({ home }).start();
    expect((await server.client.hello()).pid).toBe(server.pid);
    expect(strangers.map(({ exitCode, signalCode }) => exitCode ?? signalCode)).toEqual([
      null,
      null,
    ]);
    expect(readdirSync(path.join(home, "runners"))).toEqual([]);
  });
});

function makeStranger(env: NodeJS.ProcessEnv): ChildProcess {
  const stranger = spawn("sleep", ["300"], { detached: true, stdio: "ignore", env });
  onTestFinished(() => void stranger.kill("SIGKILL"));
  return stranger;
}

describe("no descriptors left", () => {
  it("P-5, E-2: the server lives, and does everything once there are some again", async () => {
    const provider = await startProvider();
    const server = await new FaultyServer().start();
    const { client, pid } = server;
    const project = makeProject({ maker: makeThing });
    const spec = { url: provider.url, seen: true };
    await applySpecs(client, project, "maker", { before: spec });
    await untilReady(client, project);
    const used = readdirSync(`/proc/${pid}/fd`).length;
    // So that a new runner is needed, for which there is no pipe.
    for (const runner of server.runners()) send(runner, "SIGKILL");
    limitFiles(pid, used - 2);
    const late = Array.from({ length: 4 }, (_, index) => [`k${index}`, spec] as const);
    await applySpecs(client, project, "maker", Object.fromEntries(late)).catch(() => undefined);
    const callers = Array.from({ length: 30 }, () =>
      net.connect(path.join(server.home, "server.sock")).on("error", () => {}),
    );
    onTestFinished(() => callers.forEach((caller) => caller.destroy()));
    await untilTrue(async () => (await client.status()).lanes.length > 0);
    limitFiles(pid, 4_096);
    callers.forEach((caller) => caller.destroy());
    await applySpecs(client, project, "maker", Object.fromEntries(late));
    await client.reconcile({ project, resourceManager: "maker" });
    await untilReady(client, project);
    expect([...provider.made().values()]).toEqual([1, 1, 1, 1, 1]);
    expect(server.damage()).toEqual([]);
    expect(await server.end("SIGTERM")).toEqual({ code: 0, signal: null });
  });
});

function limitFiles(pid: number, most: number): void {
  execFileSync("prlimit", ["--pid", String(pid), `--nofile=${most}:`]);
}

describe("a clock that is set back and forth", () => {
  it("T-1, T-2, E-2: what is due is done, once, and nothing waits for the old time to come again", async () => {
    const [provider, clock] = [await startProvider(), makeClock()];
    const server = await new FaultyServer({ env: clock.env }).start();
    const folder = tempFolder("ticks");
    // Asks for one more pass, which the clock is set before.
    const ticks = `
      const fs = await import("node:fs");
      const file = resource.spec.folder + "/" + resource.metadata.key;
      const isFirst = !fs.existsSync(file);
      fs.writeFileSync(file, isFirst ? "waits" : "done");
      return isFirst ? ctx.requeueAfter(1_000) : ctx.settled();`;
    const project = makeProject({ maker: makeThing, ticks });
    const tick = (key: string) => {
      const file = path.join(folder, key);
      return existsSync(file) ? readFileSync(file, "utf8") : "";
    };
    const jumps = [-30 * 24, 24, -1, 1, 400 * 24, -400 * 24, 0].map((hours) => hours * HOUR_MS);
    for (const [index, offset] of jumps.entries()) {
      const key = `k${index}`;
      await applySpecs(server.client, project, "ticks", { [key]: { folder } });
      await untilTrue(() => tick(key) !== "");
      clock.set(offset);
      count("times that the clock was set", 1);
      await applySpecs(server.client, project, "maker", {
        [key]: { url: provider.url, seen: true },
      });
      await untilTrue(() => provider.made().has(`${key}:1`));
      await untilTrue(() => tick(key) === "done");
      if (index % 3 === 2) {
        await server.end("SIGKILL");
        await server.start();
      }
    }
    await untilTrue(async () => (await server.client.queue({ project })).length === 0);
    expect([...provider.made().values()]).toEqual(jumps.map(() => 1));
    const { resources } = await server.client.snapshot(project);
    expect(resources).toHaveLength(2 * jumps.length);
    expect(server.damage()).toEqual([]);
  });
});
