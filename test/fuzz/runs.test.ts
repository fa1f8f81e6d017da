import { readFileSync } from "node:fs";
import { Agent } from "node:http";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { homeAt } from "../../src/server/home.ts";
import { ROUTES } from "../../src/server/protocol.ts";
import { buildRuns } from "../server/runs/real-runs.ts";
import { count } from "../support/figures.ts";
import { ask, judge, queryOf } from "./support/asking.ts";
import { changed, expectUnpolluted, tries } from "./support/inputs.ts";
import { INPUT, openStage } from "./support/stage.ts";

beforeAll(buildRuns);

/** Requests about one run or a new one; values go all the way through a runner. */
const requestsOf = (project: string, runId: string) =>
  ({
    startRun: { project, workflow: "talk", input: INPUT, requestKey: "k" },
    answerRun: { runId, node: "ask", visit: 1, value: { a: [{ b: "c" }] } },
    resolveRun: { runId, visit: 1, resolution: { outcome: "succeeded", output: { a: [1] } } },
    retryRun: { runId },
    pauseRun: { runId },
    resumeRun: { runId },
    journal: { runId, after: 0, limit: 5, bodies: true },
    runLog: { runId, after: 0, limit: 5 },
    questions: { runId },
    run: { runId },
    runs: { project, workflow: "talk", limit: 5 },
  }) as const;
type Route = keyof ReturnType<typeof requestsOf>;
const NAMES = Object.keys(requestsOf("", "")) as Route[];
// Mostly answers: they are what reaches authors' code.
const NAME = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...NAMES) },
  { weight: 1, arbitrary: fc.constant("answerRun" as const) },
);

describe("real runs", () => {
  it("answer every request with a result or a coded refusal, and end none of the server's", async () => {
    const { project, home, socket, runIds } = await openStage();
    const to = { socket, agent: new Agent({ keepAlive: true }) };
    const before = process.memoryUsage.rss();
    const { numRuns, ...how } = tries(400);
    const requests = fc
      .tuple(NAME, fc.constantFrom(...runIds))
      .chain(([name, runId]) =>
        changed([requestsOf(project, runId)[name]]).map((params) => ({ name, params })),
      );
    try {
      await fc.assert(
        fc.asyncProperty(requests, async ({ name, params }) => {
          const { method, path } = ROUTES[name];
          const asked =
            method === "GET"
              ? { method, path: path + queryOf(params) }
              : { method, path, body: JSON.stringify(params) ?? "" };
          const answer = await ask(to, asked);
          judge(answer, asked);
          // What was started waits for answers, too.
          if (name === "startRun" && answer.status === 200 && runIds.length < 12) {
            runIds.push((JSON.parse(answer.text) as { runId: string }).runId);
          }
        }),
        { numRuns, ...how },
      );
      judge(await ask(to, { method: "GET", path: ROUTES.status.path }), "status");
    } finally {
      to.agent.destroy();
    }
    count("inputs of runs", numRuns);
    expectUnpolluted();
    expect(readFileSync(homeAt(home).log, "utf8")).not.toMatch(/"code":"INTERNAL"/);
    expect(process.memoryUsage.rss() - before).toBeLessThan(300 * 1024 * 1024);
  });
});
