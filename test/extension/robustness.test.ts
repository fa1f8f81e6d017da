import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { PROTOCOL_VERSION } from "../../src/server/protocol.ts";
import { TRIED_PIS, NEWEST_PI } from "../pi/support/installed.ts";
import type { Lifetime } from "../pi/support/machine.ts";
import type { PiRpc } from "../pi/support/rpc.ts";
import { decides, writeCounter } from "./support/counter.ts";
import {
  buildExtension,
  EXTENSION,
  said,
  setStage,
  status,
  type,
  type Stage,
} from "./support/stage.ts";

beforeAll(() => buildExtension());

const homeOf = ({ machine }: Stage) => path.join(machine.agentDir, "workflows");
const pidOf = (stage: Stage) =>
  (JSON.parse(readFileSync(path.join(homeOf(stage), "server.json"), "utf8")) as { pid: number })
    .pid;

/** What Pi says of an extension that threw. */
const errorsOf = ({ records }: PiRpc) =>
  records.filter((record) => record.type === "extension_error");

/** Something that is no server of ours listens where ours would. */
async function impostor(test: Lifetime, stage: Stage, answer: RequestListener): Promise<void> {
  mkdirSync(homeOf(stage), { recursive: true, mode: 0o700 });
  const server = createServer(answer);
  await new Promise<void>(
    (done) => void server.listen(path.join(homeOf(stage), "server.sock"), done),
  );
  test.onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((done) => void server.close(done));
  });
}

const SENSELESS = [
  null,
  3,
  [null],
  {},
  { items: 3 },
  { items: [{}] },
  { error: { code: "NOTHING", message: 3, details: { problems: 3 } } },
  { error: { code: "INTERNAL", message: "m", hint: 3, details: { problems: [null] } } },
  { kind: "present", resource: null },
  { kind: "present", resource: { metadata: {} } },
  { kind: "listed" },
];

describe.each(TRIED_PIS)("Pi $version goes on", (pi) => {
  it("when the server is killed, says so, and the next command starts another", async (test) => {
    const stage = setStage(test, { pi });
    writeCounter(stage, "a", 1);
    const session = await stage.open();
    await type(session, "/resource-manager apply specs");
    await status(session, "1 ready");
    const from = session.records.length;
    process.kill(pidOf(stage), "SIGKILL");
    await status(session, "pi-workflows: no server answers", from);
    expect(await type(session, "/resource-manager list")).toContain("counter  a");
    await status(session, "1 ready", from);
    expect(await session.close()).toBe(0);
  });

  it("when the server hangs, and ends at once when it is told to, in the middle of a request", async (test) => {
    const stage = setStage(test, { pi });
    writeCounter(stage, "a", 1);
    const session = await stage.open();
    await type(session, "/resource-manager apply specs");
    await status(session, "1 ready");
    const server = pidOf(stage);
    process.kill(server, "SIGSTOP");
    test.onTestFinished(async () => void process.kill(server, "SIGCONT"));
    session.write({ type: "prompt", message: "/resource-manager list" });
    await session.call({ type: "get_state" });
    expect(await session.close()).toBe(0);
    expect(errorsOf(session)).toEqual([]);
  });

  it("when what answers is nonsense, and says what", async (test) => {
    const stage = setStage(test, { pi });
    await impostor(test, stage, (request, response) => {
      const hello = { version: "0.1.0", protocol: PROTOCOL_VERSION, pid: 1, home: "" };
      response.end(request.url === "/v1/hello" ? JSON.stringify(hello) : "<html>");
    });
    const session = await stage.open();
    expect(await type(session, "/resource-manager list")).toContain(
      "what answers is no server of pi-workflows",
    );
    expect(await session.close()).toBe(0);
  });

  it("when every answer and every event is JSON of no sense", async (test) => {
    const stage = setStage(test, { pi });
    stage.write(".pi/resources/README", "");
    let answers = 0;
    await impostor(test, stage, (request, response) => {
      const hello = { version: "0.1.0", protocol: PROTOCOL_VERSION, pid: 1, home: "" };
      if (request.url === "/v1/hello") return void response.end(JSON.stringify(hello));
      const senseless = SENSELESS[answers++ % SENSELESS.length] as (typeof SENSELESS)[number];
      if (/watch/.test(request.url ?? "")) {
        const events = SENSELESS.map((one) => `data: ${JSON.stringify(one)}\n\n`);
        return void response.end(events.join(""));
      }
      response.statusCode = answers % 2 === 0 ? 200 : 500;
      response.end(JSON.stringify(senseless));
    });
    const session = await stage.open();
    for (let round = 0; round < SENSELESS.length; round += 1) {
      await type(session, "/resource-manager list");
      await type(session, "/resource-manager reconcile counter");
      await type(session, "/workflow runs");
    }
    await session.call({ type: "get_state" });
    expect(await session.close()).toBe(0);
  });

  it("when the server is of another version, and says whom to upgrade", async (test) => {
    const stage = setStage(test, { pi });
    await impostor(test, stage, (_request, response) => {
      response.setHeader("pi-workflows-protocol", "99").setHeader("pi-workflows-version", "9.9.9");
      response.end(JSON.stringify({ version: "9.9.9", protocol: 99, pid: 1, home: "" }));
    });
    stage.write(".pi/resources/README", "");
    const session = await stage.open();
    const text = await type(session, "/resource-manager list");
    expect(text).toContain("The client is of version 0.1.0");
    expect(text).toContain("pi update npm:@osolmaz/pi-workflows");
    // In the background it is told once, whatever meets it how often.
    await type(session, "/resource-manager list");
    const warnings = session.records.filter(
      ({ method, notifyType }) => method === "notify" && notifyType === "warning",
    );
    expect(new Set(said(warnings)).size).toBe(warnings.length);
    expect(await session.close()).toBe(0);
  });

  it("when no Node can be found that runs the server, and says which were tried", async (test) => {
    const stage = setStage(test, { pi });
    stage.env["PI_WORKFLOWS_NODE"] = "/nowhere/node";
    const session = await stage.open();
    const text = await type(session, "/resource-manager list");
    expect(text).toContain("no Node was found that runs the server");
    expect(text).toContain("/nowhere/node");
    expect(await session.close()).toBe(0);
  });
});

// A file system of its own that only the processes of the test see.
const NAMESPACE = ["--user", "--map-root-user", "--mount"];
const canMount = spawnSync("unshare", [...NAMESPACE, "true"]).status === 0;
const FILL =
  'mount -t tmpfs -o size=32k full "$FULL" && head -c 100000 /dev/zero > "$FULL/filled"; exec "$@"';

describe("Pi goes on", () => {
  it("when the socket vanishes under a server that lives, and says which process to end", async (test) => {
    const stage = setStage(test, { pi: NEWEST_PI });
    writeCounter(stage, "a", 1);
    const session = await stage.open();
    await type(session, "/resource-manager apply specs");
    await status(session, "1 ready");
    const server = pidOf(stage);
    rmSync(path.join(homeOf(stage), "server.sock"));
    // Connections that are open go on; a session that begins now has none.
    const next = await stage.open();
    const text = await type(next, "/resource-manager list");
    expect(text).toContain("but did not answer at its socket");
    expect(text).toContain(`End process ${server} (\`kill\`), then repeat`);
    process.kill(server, "SIGTERM");
    await status(session, "pi-workflows: no server answers");
    expect(await type(next, "/resource-manager list")).toContain("counter  a");
    expect(await Promise.all([session.close(), next.close()])).toEqual([0, 0]);
  });

  it.skipIf(!canMount)("when the disk of the state folder is full, and says so", async (test) => {
    const stage = setStage(test, { pi: NEWEST_PI });
    mkdirSync(homeOf(stage), { recursive: true, mode: 0o700 });
    const full = { ...stage.env, FULL: homeOf(stage) };
    const { node, cli } = NEWEST_PI;
    const command = [node, cli, "-ne", "-ns", "-np", "-nc", "-e", EXTENSION];
    const args = [...NAMESPACE, "sh", "-c", FILL, "sh", ...command, "-p", "/resource-manager list"];
    const how = { cwd: stage.machine.project, env: full, encoding: "utf8" as const };
    const { stderr, status: code } = spawnSync("unshare", args, how);
    expect(stderr).toContain("The server can't be started: ENOSPC: no space left on device");
    expect(stderr).toContain(`Free some space where ${homeOf(stage)} is`);
    expect(code).toBe(2);
  });

  it("through /new and a reload of its session, and two at once", async (test) => {
    const stage = setStage(test, { pi: NEWEST_PI });
    writeCounter(stage, "a", 1);
    const one = await stage.open({ person: decides(true) });
    const two = await stage.open();
    await type(one, "/resource-manager apply specs");
    await Promise.all([status(one, "1 ready"), status(two, "1 ready")]);
    const from = one.records.length;
    await one.call({ type: "new_session" });
    await status(one, "1 ready", from);
    writeCounter(stage, "a", 2);
    expect(await type(one, "/resource-manager apply specs")).toContain("updated counter a");
    expect(await type(two, "/resource-manager get counter a")).toContain("generation 2");
    expect(await Promise.all([one.close(), two.close()])).toEqual([0, 0]);
    expect([...errorsOf(one), ...errorsOf(two)]).toEqual([]);
  });
});
