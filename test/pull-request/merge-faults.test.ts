import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { PullRequestSpecInput } from "../../examples/pull-request/.pi/resource-managers/pull-request/spec.ts";
import { acts, type Act } from "../github/faults.mjs";
import type { SeededPull } from "../github/seeds.mjs";
import { startGitHub, type GitHub } from "../github/stand-in.mjs";
import type { CrashPoint } from "../../src/testing/crash.ts";
import { Driver } from "./driver.ts";

let github: GitHub;
beforeAll(async () => {
  github = await startGitHub();
});
afterAll(() => github.close());
afterEach(() => github.endTest());

const MERGE = { method: "PUT", path: /\/pulls\/\d+\/merge$/ };
const READS = { method: "GET", path: /^\/repos\// };

/** A pull request with a green check, and a driver whose next pass calls the merge. */
async function aboutToMerge(options: Partial<PullRequestSpecInput> = {}, timeoutMs = 20_000) {
  const repository = await github.seeds.repository();
  const pull = await github.seeds.pull(repository);
  await github.seeds.check(repository, pull.headSha);
  const spec = { repository, number: pull.number, baseRef: "main", apiUrl: github.url, ...options };
  const driver = new Driver({ spec, timeoutMs });
  await driver.until(() => driver.status.merge?.state === "intended");
  github.forget();
  return { repository, pull, driver };
}

async function endsMerged(driver: Driver, pull: SeededPull) {
  await driver.until(() => driver.ready === "true/Merged");
  expect(github.merges).toHaveLength(1);
  const messages = await github.seeds.messages(pull.repository);
  expect(messages.filter((message) => message.includes("Merge-Intent:"))).toHaveLength(1);
  expect(driver.status.merged).toMatchObject({ headSha: pull.headSha, by: "shepherd" });
  expect(driver.effectsOf().at(-1)).toMatchObject({ state: "applied" });
}

describe("whatever happens to the merge call, it is applied once", () => {
  const APPLIED: [string, Act][] = [
    ["an answer lost to 502", { kind: "apply-502" }],
    ["a connection cut after it was applied", { kind: "apply-reset" }],
    ["an answer cut short", { kind: "truncate" }],
    ["an answer that is half JSON", { kind: "garble" }],
    ["an answer that never comes", { kind: "hang", after: true }],
  ];
  it.each(APPLIED)("E-6: %s is found by observation, and not repeated", async (_name, act) => {
    const { driver, pull } = await aboutToMerge({}, act.kind === "hang" ? 1_500 : 20_000);
    github.fault({ ...MERGE, act });
    const outcome = await driver.pass();
    expect(outcome.kind).toBe("failed");
    expect(driver.effectsOf()).toMatchObject([{ state: "indeterminate", attempts: 1 }]);
    await endsMerged(driver, pull);
    expect(github.writes).toHaveLength(1);
  });

  const NOT_APPLIED: [string, Act][] = [
    ["502", acts.badGateway],
    ["a connection cut before it was applied", { kind: "reset" }],
    ["a call that hangs before it was applied", { kind: "hang", after: false }],
  ];
  it.each(NOT_APPLIED)("E-2: %s is repeated after proof of absence", async (_name, act) => {
    const { driver, pull } = await aboutToMerge({}, act.kind === "hang" ? 1_500 : 20_000);
    github.fault({ ...MERGE, act });
    await driver.pass();
    expect(github.merges).toEqual([]);
    await endsMerged(driver, pull);
    expect(driver.effectsOf()).toMatchObject([{ attempts: 2 }]);
  });

  it("E-7: absence is no proof until the call has had its time", async () => {
    const { driver } = await aboutToMerge();
    github.fault({ ...MERGE, act: acts.badGateway });
    const called = driver.now;
    await driver.pass();
    await driver.until(() => github.merges.length > 0);
    expect(driver.now - called).toBeGreaterThanOrEqual(30_000);
  });

  it("nothing is repeated while the outcome can't be read", async () => {
    const { driver, pull } = await aboutToMerge();
    github.fault({ ...MERGE, act: { kind: "apply-502" } });
    await driver.pass();
    const reads = github.fault({ ...READS, times: 1_000, act: acts.badGateway });
    for (let count = 0; count < 3; count += 1) await driver.pass();
    expect(driver.ready).toBe("false/Unreadable");
    expect(github.writes).toHaveLength(1);
    reads.cancel();
    await endsMerged(driver, pull);
  });

  it("a merge that GitHub shows as open is found in the base, held, and never called again", async () => {
    const { driver, pull } = await aboutToMerge();
    github.fault({ ...MERGE, act: { kind: "apply-502" } });
    const lie = github.fault({
      method: "GET",
      path: new RegExp(`/pulls/${pull.number}$`),
      times: 1_000,
      act: {
        kind: "map",
        map: (answer) => ({
          ...answer,
          body: { ...answer.body, state: "open", merged: false, merged_at: null, mergeable: true },
        }),
      },
    });
    await driver.until(() => driver.ready === "false/Held");
    expect(driver.condition("Held")).toMatchObject({ status: true, reason: "AppliedButOpen" });
    for (let count = 0; count < 4; count += 1) await driver.pass();
    expect(driver.effectsOf()).toMatchObject([{ state: "applied", attempts: 1 }]);
    driver.edit({ merge: { method: "merge" } });
    for (let count = 0; count < 4; count += 1) await driver.pass();
    expect(driver.ready).toBe("false/Held");
    expect(github.writes).toHaveLength(1);
    lie.cancel();
    await driver.until(() => driver.ready === "true/Merged");
  });

  it("a merge that GitHub confirmed and shows late is waited for", async () => {
    const { driver, pull } = await aboutToMerge();
    await driver.pass();
    github.fault({
      method: "GET",
      path: new RegExp(`/pulls/${pull.number}$`),
      times: 2,
      act: {
        kind: "map",
        map: (answer) => ({ ...answer, body: { ...answer.body, state: "open", merged: false } }),
      },
    });
    await driver.pass();
    expect(driver.ready).toBe("false/Verifying");
    await endsMerged(driver, pull);
  });

  it.each<CrashPoint>(["effect-pending", "provider-answered", "effect-settled"])(
    "E-6: killed at %s, it ends in one merge and a ledger that says so",
    async (crash) => {
      const { driver, pull } = await aboutToMerge();
      driver.crashAt = crash;
      expect(await driver.pass()).toEqual({ kind: "crashed" });
      await endsMerged(driver, pull);
      expect(driver.effectsOf()).toHaveLength(1);
    },
  );

  it("E-6: a call that is called off while it hangs counts as not known", async () => {
    const { driver, pull } = await aboutToMerge();
    const rule = github.fault({ ...MERGE, act: { kind: "hang", after: true } });
    const pass = driver.pass();
    await rule.hit;
    driver.abort.abort("lease-lost");
    await pass;
    expect(driver.effectsOf()).toMatchObject([{ state: "indeterminate" }]);
    driver.abort = new AbortController();
    await endsMerged(driver, pull);
    expect(github.writes).toHaveLength(1);
  });

  it("by a rebase, which carries no trailer, too", async () => {
    const { driver, pull } = await aboutToMerge({ merge: { method: "rebase" } });
    github.fault({ ...MERGE, act: { kind: "apply-reset" } });
    await driver.until(() => driver.ready === "true/Merged");
    expect(github.merges).toHaveLength(1);
    expect(driver.status.merged?.headSha).toBe(pull.headSha);
  });
});

describe("a refusal is certain: nothing was applied, and the next call is a new decision", () => {
  it("the head that moves between look and call is not merged", async () => {
    const { driver, pull } = await aboutToMerge();
    const move = () => github.seeds.commit(pull.repository, pull.headRef, "Nobody read this");
    github.fault({ ...MERGE, act: { kind: "first", run: move } });
    await driver.pass();
    expect(github.writes).toMatchObject([{ status: 409, body: { sha: pull.headSha } }]);
    expect(driver.effectsOf()).toMatchObject([{ state: "rejected", attempts: 1 }]);
    await driver.pass();
    expect(driver.ready).toBe("false/WaitingForChecks");
    expect(github.merges).toEqual([]);
  });

  it("the head that moves after the decision is seen by the last look, and not asked for", async () => {
    const { driver, pull } = await aboutToMerge();
    const move = () => github.seeds.commit(pull.repository, pull.headRef, "Nobody read this");
    const act: Act = { kind: "first", run: move };
    github.fault({ method: "GET", path: new RegExp(`/pulls/${pull.number}$`), skip: 1, act });
    await driver.pass();
    expect(driver.effectsOf()).toMatchObject([
      { state: "rejected", reason: expect.stringMatching(/^head-moved/) },
    ]);
    expect(github.writes).toEqual([]);
  });

  it("the head that moves before the decision is not even intended", async () => {
    const { driver, pull } = await aboutToMerge({});
    await github.seeds.commit(pull.repository, pull.headRef, "Nobody read this");
    await driver.pass();
    expect(github.writes).toEqual([]);
    expect(driver.ready).toBe("false/WaitingForChecks");
  });

  it("a moved base is waited for, with growing waits, and merged then", async () => {
    const { driver, pull } = await aboutToMerge();
    github.fault({ ...MERGE, times: 4, act: acts.baseModified });
    const waits: number[] = [];
    let refusals = 0;
    await driver.until(() => {
      const refused = driver.effectsOf().filter(({ state }) => state === "rejected").length;
      if (refused > refusals)
        waits.push(Date.parse(driver.status.merge?.refusal?.retryAt ?? "") - driver.now);
      refusals = refused;
      return driver.ready === "true/Merged";
    });
    expect(waits).toHaveLength(4);
    expect(waits).toEqual([...waits].sort((a, b) => a - b));
    expect(github.merges).toHaveLength(1);
    expect(driver.effectsOf().every(({ parked, attempts }) => !parked && attempts === 1)).toBe(
      true,
    );
    expect(driver.status.merged?.headSha).toBe(pull.headSha);
  });

  it("a base that really moves is merged onto, and keeps its commits", async () => {
    const { driver, pull } = await aboutToMerge();
    const move = () => github.seeds.commit(pull.repository, "main", "The base moves");
    github.fault({ ...MERGE, act: { kind: "first", run: move } });
    await endsMerged(driver, pull);
    expect(await github.seeds.messages(pull.repository)).toContain("The base moves");
  });

  const LIMITS: [string, Act, number][] = [
    ["429", acts.tooManyRequests(90), 90_000],
    ["a secondary limit", acts.secondaryLimit(120), 120_000],
  ];
  it.each(LIMITS)(
    "%s stops every call for its wait, and parks nothing",
    async (_name, act, wait) => {
      const { driver, pull } = await aboutToMerge();
      github.fault({ ...MERGE, times: 4, act });
      for (let count = 0; count < 4; count += 1) {
        await driver.until(() => driver.effectsOf()[count]?.state === "rejected");
        const [limited, before] = [driver.now, github.requests.length];
        const outcome = await driver.pass();
        expect(outcome).toMatchObject({ kind: "requeueAfter" });
        expect(github.requests.length).toBe(before);
        expect(driver.now - limited).toBeGreaterThanOrEqual(wait - 1_000);
        expect(driver.ready).toBe("false/RateLimited");
      }
      await endsMerged(driver, pull);
      expect(driver.effectsOf().filter(({ parked }) => parked)).toEqual([]);
    },
  );

  it.each([
    ["MergeRefused", acts.refused("Pull Request is not mergeable")],
    ["MergeRefused", acts.refused('Required status check "security" is expected.')],
    ["MergeRefused", acts.refused("This branch can't be rebased")],
    [
      "QueueRequired",
      acts.refused(
        "Repository rule violations found\n\nChanges must be made through the merge queue\n\n",
      ),
    ],
    ["NoAccess", acts.forbidden],
    ["NoAccess", acts.notFound],
  ] as [string, Act][])(
    "%s: a refusal is said, waited for and not repeated at once",
    async (reason, act) => {
      const { driver, pull } = await aboutToMerge();
      github.fault({ ...MERGE, act });
      await driver.pass();
      expect(driver.effectsOf()).toMatchObject([{ state: "rejected" }]);
      await driver.pass();
      expect(driver.ready).toBe(`false/${reason}`);
      expect(github.merges).toEqual([]);
      await endsMerged(driver, pull);
      expect(driver.effectsOf()).toHaveLength(2);
    },
  );

  it("an intent is given up, and settled in the ledger, where it is not wanted any more", async () => {
    const { driver, pull } = await aboutToMerge({ require: { noLabels: ["hold"] } });
    github.fault({ ...MERGE, act: acts.badGateway });
    await driver.pass();
    await github.seeds.label(pull, "hold");
    await driver.until(() => driver.ready === "false/BlockingLabels");
    expect(driver.effectsOf()).toMatchObject([
      { state: "rejected", reason: expect.stringMatching(/^withdrawn/) },
    ]);
    await github.seeds.unlabel(pull, "hold");
    await endsMerged(driver, pull);
  });

  it("E-9: a new generation does not forget a call of the old one", async () => {
    const { driver, pull } = await aboutToMerge();
    github.fault({ ...MERGE, act: { kind: "apply-reset" } });
    await driver.pass();
    driver.edit({ merge: { method: "merge" } });
    await endsMerged(driver, pull);
    expect(driver.effectsOf()).toMatchObject([{ state: "applied", generation: 1 }]);
  });
});

describe("what others do to the pull request is observed, and no call is made", () => {
  it("merged by hand at this head is success, and not ours", async () => {
    const { driver, pull } = await aboutToMerge();
    await github.seeds.mergeByHand(pull, "bob");
    await driver.until(() => driver.ready === "true/Merged");
    expect(github.writes).toEqual([]);
    expect(driver.status.merged).toMatchObject({ by: "bob" });
    expect(driver.effectsOf().filter(({ state }) => state === "applied")).toEqual([]);
  });

  it("merged at another head than expected is held", async () => {
    const { driver, pull } = await aboutToMerge();
    driver.edit({ expectedHeadSha: pull.headSha });
    await github.seeds.commit(pull.repository, pull.headRef, "Not what was expected");
    await github.seeds.mergeByHand(pull);
    await driver.until(() => driver.ready === "false/Held");
    expect(driver.condition("Held")).toMatchObject({ reason: "MergedOtherHead" });
    expect(github.writes).toEqual([]);
  });

  it("closed is waited for, and merged when it is reopened", async () => {
    const { driver, pull } = await aboutToMerge();
    await github.seeds.edit(pull, { state: "closed" });
    await driver.pass();
    expect(driver.ready).toBe("false/Closed");
    await github.seeds.edit(pull, { state: "open" });
    await endsMerged(driver, pull);
  });

  it("a draft made of it between decision and call is not merged", async () => {
    const { driver, pull } = await aboutToMerge();
    await github.seeds.edit(pull, { draft: true });
    await driver.pass();
    expect(driver.ready).toBe("false/Draft");
    expect(github.writes).toEqual([]);
    expect(driver.effectsOf()).toMatchObject([{ state: "rejected" }]);
  });

  it("a renamed repository blocks, and names the new one", async () => {
    const { driver, pull } = await aboutToMerge();
    await github.seeds.rename(pull.repository, `renamed-${pull.number}-${Date.now()}`);
    await driver.pass();
    expect(driver.ready).toBe("false/RepositoryMoved");
    expect(driver.condition("Blocked")).toMatchObject({ status: true });
    expect(github.writes).toEqual([]);
  });
});
