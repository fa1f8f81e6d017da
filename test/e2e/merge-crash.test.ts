import { readdirSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { connect } from "../../src/server/client.ts";
import type { Act } from "../github/faults.mjs";
import { startGitHub, type GitHub } from "../github/stand-in.mjs";
import {
  askForMerge,
  expectMergedOnce,
  mergeOf,
  mergesOf,
  pullRequestStage,
} from "./pull-requests.ts";
import { buildAll, eventually, signal, type CrashPlan, type Stage } from "./stage.ts";

let github: GitHub;
beforeAll(async () => {
  buildAll();
  github = await startGitHub();
});
afterAll(async () => {
  await github.close();
  github.endTest();
});

/** How often the provider had been asked for by the end: a call that never arrived counts. */
type Case = { at: string; attempts: number };

/** Steps of the effect inside the server, in order, as probe points of its store. */
const IN_SERVER: (Case & { points: string[] })[] = [
  { at: "before the pending row is committed", points: ["store.beginEffect.written"], attempts: 1 },
  {
    at: "after the pending row is committed, before the provider is called",
    points: ["store.beginEffect.committed"],
    attempts: 2,
  },
  {
    at: "after the answer, before it is recorded",
    points: ["store.settleEffect.written"],
    attempts: 1,
  },
  {
    at: "after the answer is recorded",
    points: ["store.settleEffect.committed"],
    attempts: 1,
  },
  {
    at: "before the pass is settled",
    points: ["store.settleEffect.committed", "store.settle.written"],
    attempts: 1,
  },
  {
    at: "after the pass is settled",
    points: ["store.settleEffect.committed", "store.settle.committed"],
    attempts: 1,
  },
];

/** Steps of the effect at the provider: what it does with the call, and when the kill happens. */
const AT_PROVIDER: (Case & { act: (kill: () => void) => Act; when: "arrived" | "applied" })[] = [
  {
    at: "while the call is in flight, not applied",
    act: () => ({ kind: "hang", after: false }),
    when: "arrived",
    attempts: 2,
  },
  {
    at: "while the call is in flight, and is applied after that",
    act: (kill) => ({ kind: "first", run: kill }),
    when: "arrived",
    attempts: 1,
  },
  {
    at: "while the call is in flight, applied",
    act: () => ({ kind: "hang", after: true }),
    when: "applied",
    attempts: 1,
  },
  {
    at: "after it was applied, before the answer is sent",
    act: (kill) => ({
      kind: "map",
      map: (answer) => {
        kill();
        return answer;
      },
    }),
    when: "applied",
    attempts: 1,
  },
];

/** Nothing of the database is damaged, and nothing that was started still runs. */
async function endsClean(stage: Stage): Promise<void> {
  await stage.stopServers();
  expect(stage.inspect((database) => database.pragma("integrity_check"))).toEqual([
    { integrity_check: "ok" },
  ]);
}

/** Applies a spec to a server that kills by a plan, and comes to the merge. */
async function crashAt(test: TestContext, crash: CrashPlan) {
  const stage = pullRequestStage(test);
  const pull = await askForMerge(stage, github);
  const server = await stage.startServer(crash);
  await stage.ok(["apply", "-f", ".pi/resources"]);
  return { stage, pull, server };
}

describe("E-6: kill -9 of the server in mid-merge ends in one merge and a correct ledger", () => {
  it.concurrent.for(IN_SERVER)("$at", async ({ points, attempts }, test) => {
    const { stage, pull, server } = await crashAt(test, { victim: "server", points });
    expect(await server.ended).toBe("SIGKILL");
    await stage.startServer();
    await expectMergedOnce(stage, github, { pull, attempts });
    await endsClean(stage);
  });

  it.concurrent.for(AT_PROVIDER)("$at", async ({ act, when, attempts }, test) => {
    const stage = pullRequestStage(test);
    const pull = await askForMerge(stage, github);
    const server = await stage.startServer();
    const kill = () => signal(server.pid, "SIGKILL");
    const rule = github.fault({ ...mergeOf(pull), act: act(kill) });
    await stage.ok(["apply", "-f", ".pi/resources"]);
    await rule.hit;
    if (when === "applied") await eventually(() => expect(mergesOf(github, pull)).toHaveLength(1));
    kill();
    expect(await server.ended).toBe("SIGKILL");
    await stage.startServer();
    await expectMergedOnce(stage, github, { pull, attempts });
    await endsClean(stage);
  });

  it.concurrent("E-7: a call that arrives after the next server has looked is not repeated", async (test) => {
    const stage = pullRequestStage(test, { PULL_REQUEST_SETTLE_MS: "8000" });
    const pull = await askForMerge(stage, github);
    const server = await stage.startServer();
    let deliver = () => {};
    const delivered = new Promise<void>((resolve) => (deliver = resolve));
    const rule = github.fault({ ...mergeOf(pull), act: { kind: "first", run: () => delivered } });
    await stage.ok(["apply", "-f", ".pi/resources"]);
    await rule.hit;
    signal(server.pid, "SIGKILL");
    await server.ended;
    await stage.startServer();
    await untilAbsenceWasSeen(stage, pull.key);
    expect(mergesOf(github, pull)).toEqual([]);
    deliver();
    await expectMergedOnce(stage, github, { pull, attempts: 1 });
    await endsClean(stage);
  });
});

describe("kill -9 of the runner alone in mid-merge ends in one merge and a correct ledger", () => {
  // The server goes on: what it was about to write is written.
  const attemptsOf = ({ at, attempts }: Case) => (at === IN_SERVER[0]?.at ? 2 : attempts);

  it.concurrent.for(IN_SERVER)("$at", async ({ points, ...one }, test) => {
    const { stage, pull, server } = await crashAt(test, { victim: "runner", points });
    await expectMergedOnce(stage, github, { pull, attempts: attemptsOf(one) });
    expect(server.output()).toContain('"fault":"signal"');
    await endsClean(stage);
  });

  it.concurrent.for(AT_PROVIDER)("$at", async ({ act, when, attempts }, test) => {
    const stage = pullRequestStage(test);
    const pull = await askForMerge(stage, github);
    await stage.startServer();
    const killed: number[] = [];
    const kill = () => {
      if (killed.length > 0) return;
      killed.push(...runnersOf(stage));
      for (const pid of killed) signal(pid, "SIGKILL");
    };
    const rule = github.fault({ ...mergeOf(pull), act: act(kill) });
    await stage.ok(["apply", "-f", ".pi/resources"]);
    await rule.hit;
    if (when === "applied") await eventually(() => expect(mergesOf(github, pull)).toHaveLength(1));
    kill();
    expect(killed).toHaveLength(1);
    await expectMergedOnce(stage, github, { pull, attempts });
    await endsClean(stage);
  });
});

/** The runners that a server has noted in its state folder. */
function runnersOf(stage: Stage): number[] {
  return readdirSync(path.join(stage.home, "runners")).map((file) => Number.parseInt(file, 10));
}

/** Resolves when a pass of the present server has observed the open effect and waits. */
async function untilAbsenceWasSeen(stage: Stage, key: string): Promise<void> {
  const { metadata } = await stage.resource("pull-request", key);
  const client = await connect({ home: stage.home });
  await eventually(async () => {
    const [latest, before] = await client.passes(metadata.uid, 2);
    expect([before?.outcome, latest?.outcome]).toEqual(["crashed", "requeueAfter"]);
  });
  await client.close();
}
