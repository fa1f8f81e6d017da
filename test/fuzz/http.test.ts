import { readFileSync } from "node:fs";
import { Agent } from "node:http";
import { connect as connectSocket } from "node:net";
import { setTimeout as after } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { homeAt } from "../../src/server/home.ts";
import { ROUTES, STREAMS } from "../../src/server/protocol.ts";
import { creation, host, PROJECT } from "../server/hosting.ts";
import { ask, judge, queryOf, TOKEN } from "./support/asking.ts";
import { changed, expectUnpolluted, mangled, tries } from "./support/inputs.ts";

const ref = { project: PROJECT, resourceManager: "quiet", key: "a" };
const origin = { owner: { kind: "person", name: "me" } };
const runId = "01890000-0000-7000-8000-000000000000";

/** One request that fits, for each route but those that stop the server or need a repository. */
const FITTING = {
  hello: {},
  status: {},
  snapshot: { project: PROJECT },
  specs: { uids: ["u"] },
  managers: { project: PROJECT },
  acceptManagers: {
    project: PROJECT,
    proposals: [
      {
        name: "m",
        path: "/p/m.ts",
        scope: "project",
        digest: "a".repeat(64),
        inputs: [{ path: "/p/m.ts", sha256: "a".repeat(64) }],
        secretPaths: [],
        sources: [{ kind: "cron", expression: "* * * * *" }],
        deadlineMs: 5,
        maxConcurrent: 1,
        bundle: "b",
      },
    ],
  },
  commit: { project: PROJECT, changes: [creation("a"), creation("b")] },
  get: ref,
  list: { project: PROJECT, labels: '{"a":"b"}', limit: 5, notReady: true, after: "x" },
  effects: { project: PROJECT, open: true, limit: 5 },
  history: ref,
  passes: { uid: "u", limit: 5 },
  queue: { uid: "u", limit: 5 },
  delete: { ref, origin, force: false },
  suspend: { ref, suspended: true },
  reconcile: { target: ref },
  resolveEffect: { uid: "u", key: "k", outcome: { state: "applied", externalRef: "r" } },
  repair: { dryRun: true },
  syncStatus: { project: PROJECT },
  prunes: { project: PROJECT },
  undelete: ref,
  workflows: { project: PROJECT },
  acceptWorkflows: { project: PROJECT, proposals: [] },
  startRun: { project: PROJECT, workflow: "w", input: { a: [1] }, requestKey: "k" },
  run: { runId },
  runs: { project: PROJECT, state: "queued", open: true, limit: 5, after: "x" },
  journal: { runId, after: 0, limit: 5, bodies: true },
  runLog: { runId, after: 0, limit: 5 },
  questions: { runId },
  pauseRun: { runId },
  resumeRun: { runId },
  cancelRun: { runId },
  answerRun: { runId, node: "ask", value: { ok: true } },
  resolveRun: { runId, visit: 1, resolution: { outcome: "succeeded", output: 1 } },
  retryRun: { runId },
} as const;
type Fitting = keyof typeof FITTING;

describe("the server's socket", () => {
  it("answers every request, well formed or not, with a result or a coded refusal", async () => {
    process.env["GITHUB_TOKEN"] = TOKEN;
    const { socket, home } = await host();
    const agent = new Agent({ keepAlive: true });
    const to = { socket, agent };
    const requests = fc
      .constantFrom(...(Object.keys(FITTING) as Fitting[]))
      .chain((name) => changed([FITTING[name]]).map((params) => ({ name, params })));
    try {
      await fc.assert(
        fc.asyncProperty(requests, async ({ name, params }) => {
          const { method, path } = ROUTES[name];
          const asked =
            method === "GET"
              ? { method, path: path + queryOf(params) }
              : { method, path, body: JSON.stringify(params) ?? "" };
          judge(await ask(to, asked), asked);
        }),
        tries(2_500),
      );
      judge(await ask(to, { method: "GET", path: ROUTES.hello.path }), "hello");
    } finally {
      delete process.env["GITHUB_TOKEN"];
      agent.destroy();
    }
    expectUnpolluted();
    expect(readFileSync(homeAt(home).log, "utf8")).not.toContain(TOKEN);
    expect(readFileSync(homeAt(home).log, "utf8")).not.toMatch(/"code":"INTERNAL"/);
  });

  it("survives bytes that are no request", async () => {
    const { socket } = await host();
    const texts = fc.constantFrom(
      "GET /v1/hello HTTP/1.1\r\nHost: server\r\n\r\n",
      `POST ${ROUTES.commit.path} HTTP/1.1\r\nHost: server\r\nContent-Type: application/json\r\nContent-Length: 27\r\n\r\n{"project":"/p","changes":[]}`,
      `POST ${ROUTES.reconcile.path} HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n`,
      `GET ${STREAMS.events}?after=0 HTTP/1.1\r\nHost: s\r\nLast-Event-ID: 5\r\nAccept: text/event-stream\r\n\r\n`,
      `GET ${STREAMS.watchRuns} HTTP/1.1\r\nHost: s\r\n\r\n`,
      "GET /v1/%00%2e%2e/../hello?%ff=%zz HTTP/1.1\r\nHost: s\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    );
    const before = process.memoryUsage.rss();
    await fc.assert(
      fc.asyncProperty(mangled(texts), (bytes) => talk(socket, bytes)),
      tries(800),
    );
    const agent = new Agent();
    const hello = await ask({ socket, agent }, { method: "GET", path: ROUTES.hello.path });
    agent.destroy();
    judge(hello, "hello");
    expect(process.memoryUsage.rss() - before).toBeLessThan(300 * 1024 * 1024);
  });
});

/** Sends the bytes and hangs up once something was answered, or soon. */
async function talk(path: string, bytes: Buffer): Promise<void> {
  const socket = connectSocket(path);
  const answered = new Promise<void>((resolve) => {
    socket.once("data", () => resolve());
    socket.once("close", () => resolve());
    socket.on("error", () => resolve());
  });
  socket.end(bytes);
  // A request that lacks its end is answered by nothing, and gives its place back by a timeout.
  await Promise.race([answered, after(20)]);
  socket.destroy();
}
