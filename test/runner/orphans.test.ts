import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { reapOrphans, recordRunner } from "../../src/runner/orphans.ts";
import { ensureBuilt } from "../support/dist.ts";
import { AUTHORING, reconcileBundle, useTestPools } from "./support/pool.ts";
import { memoryHost, never, passOf } from "./support/host.ts";
import { alive, until } from "./support/processes.ts";

const SPAWN_TS = path.resolve(import.meta.dirname, "../../src/runner/spawn.ts");
const folders: string[] = [];
const started: ChildProcess[] = [];

beforeAll(() => ensureBuilt("src/runner/child.ts", "src/resource-managers/index.ts"));
afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function temporaryHome(): string {
  const home = mkdtempSync(path.join(tmpdir(), "pi-workflows-orphans-"));
  folders.push(home);
  return home;
}

/** A process that looks like a runner: leader of its group, with a token. */
async function standIn(
  token: string,
  script = "setInterval(() => {}, 1e6)",
): Promise<ChildProcess> {
  const child = spawn(process.execPath, ["-e", `${script}; console.log("up")`], {
    detached: true,
    env: { PI_WORKFLOWS_RUNNER: token },
    stdio: ["ignore", "pipe", "inherit"],
  });
  started.push(child);
  await new Promise((resolve) => child.stdout?.once("data", resolve));
  return child;
}

describe("reaping the runners of a dead server", () => {
  it("P-1: kills a runner whose number, start time and token match, and forgets it", async () => {
    const home = temporaryHome();
    const orphan = (await standIn("t1")).pid as number;
    recordRunner(home, orphan, "t1");

    expect(await reapOrphans(home)).toEqual([orphan]);

    expect(alive(orphan)).toBe(false);
    expect(readdirSync(path.join(home, "runners"))).toEqual([]);
  });

  it("P-1: leaves a later process with the same number alone", async () => {
    const home = temporaryHome();
    const other = (await standIn("t1")).pid as number;
    recordRunner(home, other, "t1");
    const file = path.join(home, "runners", `${other}.json`);
    writeFileSync(file, JSON.stringify({ pid: other, startTime: "1", token: "t1" }));

    expect(await reapOrphans(home)).toEqual([]);

    expect(alive(other)).toBe(true);
    expect(existsSync(file)).toBe(false);
  });

  it("P-1: leaves a process without the token alone", async () => {
    const home = temporaryHome();
    const other = (await standIn("another")).pid as number;
    recordRunner(home, other, "t1");

    expect(await reapOrphans(home)).toEqual([]);

    expect(alive(other)).toBe(true);
  });

  it("P-1: kills what a runner that is gone itself has left in its group", async () => {
    const home = temporaryHome();
    const leader = await standIn(
      "t1",
      `const { spawn } = require("node:child_process");
       const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"], { stdio: "ignore" });
       child.unref();
       setTimeout(() => process.exit(), 1e6);
       console.log(child.pid)`,
    );
    const pid = leader.pid as number;
    recordRunner(home, pid, "t1");
    const exited = new Promise((resolve) => leader.once("exit", resolve));
    leader.kill("SIGKILL");
    await exited;

    expect(await reapOrphans(home)).toEqual([pid]);
    expect(await reapOrphans(home)).toEqual([]);
  });

  it("drops records that are half written or name nothing", async () => {
    const home = temporaryHome();
    mkdirSync(path.join(home, "runners"));
    for (const [name, text] of [
      ["1.json", '{"pid":1,"startTime":"1","token":"t"}'],
      ["2.json", '{"pid":'],
      ["3.json", '{"pid":-5,"startTime":"1","token":"t"}'],
    ] as const) {
      writeFileSync(path.join(home, "runners", name), text);
    }

    expect(await reapOrphans(home)).toEqual([]);
    expect(readdirSync(path.join(home, "runners"))).toEqual([]);
  });

  it("finds nothing in a new state folder", async () => {
    expect(await reapOrphans(temporaryHome())).toEqual([]);
  });
});

describe("the record of live runners", () => {
  const testPool = useTestPools();

  it("holds each runner while it lives, for its owner only", async () => {
    const test = testPool();
    test.bundle("a", reconcileBundle("return ctx.settled();"));
    await test.pool.run(passOf("a"), memoryHost(), never());
    expect(readdirSync(path.join(test.home, "runners"))).toHaveLength(1);

    await test.pool.stop();

    expect(readdirSync(path.join(test.home, "runners"))).toEqual([]);
  });
});

/** A server's process with one pass under way for each `reconcile`; prints the pids that they emit. */
async function startServer(
  home: string,
  reconciles: string[],
): Promise<{ server: ChildProcess; pids: number[] }> {
  const program = path.join(home, "server.mjs");
  await build({
    stdin: {
      contents: `
        import { createRunnerPool } from "./src/runner/pool.ts";
        const schedule = (callback, ms) => { const timer = setTimeout(callback, ms); return () => clearTimeout(timer); };
        const quiet = () => {};
        const pool = createRunnerPool({
          home: ${JSON.stringify(home)}, token: "t", bundlePath: (digest) => ${JSON.stringify(home)} + "/" + digest + ".mjs",
          env: { ...process.env, NODE_OPTIONS: "" },
          clock: { now: Date.now, monotonic: () => performance.now(), schedule },
          log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
        });
        const host = { log: quiet, emitEvent: async (event) => console.log(event.payload.join("\\n")) };
        for (let n = 0; n < ${reconciles.length}; n += 1) {
          void pool.run({ reconcileId: String(n), project: "/p", event: { cause: "spec" },
            manager: { name: "probe", digest: String(n), deadlineMs: 600_000 },
            resource: { metadata: { uid: "u" }, spec: {}, status: {} } }, host, new AbortController().signal);
        }`,
      resolveDir: path.resolve(import.meta.dirname, "../.."),
      loader: "ts",
    },
    bundle: true,
    format: "esm",
    platform: "node",
    outfile: program,
    logLevel: "warning",
    // The bundle lies elsewhere, and looks for the runner's program from where it is.
    define: { "import.meta.url": JSON.stringify(pathToFileURL(SPAWN_TS).href) },
  });
  reconciles.forEach((body, index) =>
    writeFileSync(
      path.join(home, `${index}.mjs`),
      `import { defineResourceManager } from ${JSON.stringify(AUTHORING)};\n${body}`,
    ),
  );
  const server = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] });
  started.push(server);
  const pids: number[] = [];
  server.stdout?.setEncoding("utf8").on("data", (text: string) => {
    pids.push(...text.trim().split("\n").map(Number));
  });
  return { server, pids };
}

describe("P-1: a server that is killed leaves no process behind", () => {
  const TELL = `const tell = (pids) => ctx.events.emit({ type: "Normal", reason: "Pids", message: "", payload: pids });`;

  it("P-1: neither runners that wait, nor runners that are blocked, nor what they started", async () => {
    const home = temporaryHome();
    const { server, pids } = await startServer(home, [
      reconcileBundle(`${TELL} await tell([process.pid]); await new Promise(() => {});`),
      reconcileBundle(`${TELL} await tell([process.pid]); for (;;) {}`),
      reconcileBundle(
        `${TELL} const child = spawn("sleep", ["600"]); await tell([process.pid, child.pid]); execSync("sleep 600");`,
        `import { execSync, spawn } from "node:child_process";`,
      ),
    ]);
    await until(() => pids.length === 4);
    expect(pids.map(alive)).toEqual([true, true, true, true]);

    server.kill("SIGKILL");
    await until(() => !pids.some(alive), 5_000);

    expect(await reapOrphans(home)).toEqual([]);
  });
});
