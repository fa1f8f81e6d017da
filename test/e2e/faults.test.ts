import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PullRequestSpecInput } from "../../examples/pull-request/.pi/resource-managers/pull-request/spec.ts";
import { acts, type Act } from "../github/faults.mjs";
import type { SeededPull } from "../github/seeds.mjs";
import { startGitHub, type GitHub } from "../github/stand-in.mjs";
import {
  askForMerge,
  MANAGER,
  mergeCalls,
  mergeOf,
  mergesOf,
  pullRequestStage,
} from "./pull-requests.ts";
import { buildAll, type Stage } from "./stage.ts";

let github: GitHub;
beforeAll(async () => {
  buildAll();
  github = await startGitHub();
});
afterAll(async () => {
  await github.close();
  github.endTest();
});

type Asked = SeededPull & { key: string };

/** A fault of the merge call, and what the ledger holds in the end, oldest effect first. */
type Fault = {
  name: string;
  act: (pull: SeededPull) => Act;
  spec?: (pull: SeededPull) => Partial<PullRequestSpecInput>;
  ready: { status: boolean; reason: string };
  effects: { state: string; attempts: number }[];
  /** Calls that reached GitHub itself. */
  calls: number;
};

const MERGED = { status: true, reason: "Merged" };
const once = [{ state: "applied", attempts: 1 }];
const repeated = [{ state: "applied", attempts: 2 }];
const anew = [{ state: "rejected", attempts: 1 }, ...once];
const same = (act: Act) => () => act;

const FAULTS: Fault[] = [
  { name: "502", act: same(acts.badGateway), ready: MERGED, effects: repeated, calls: 1 },
  { name: "429", act: same(acts.tooManyRequests(1)), ready: MERGED, effects: anew, calls: 1 },
  {
    name: "a secondary limit",
    act: same(acts.secondaryLimit(1)),
    ready: MERGED,
    effects: anew,
    calls: 1,
  },
  { name: "a reset", act: same({ kind: "reset" }), ready: MERGED, effects: repeated, calls: 1 },
  {
    name: "a slow answer",
    act: same({ kind: "slow", ms: 2_000 }),
    ready: MERGED,
    effects: once,
    calls: 1,
  },
  {
    name: "a hang",
    act: same({ kind: "hang", after: false }),
    ready: MERGED,
    effects: repeated,
    calls: 1,
  },
  {
    name: "applied, then a hang",
    act: same({ kind: "hang", after: true }),
    ready: MERGED,
    effects: once,
    calls: 1,
  },
  {
    name: "applied, then 502",
    act: same({ kind: "apply-502" }),
    ready: MERGED,
    effects: once,
    calls: 1,
  },
  {
    name: "applied, then a reset",
    act: same({ kind: "apply-reset" }),
    ready: MERGED,
    effects: once,
    calls: 1,
  },
  { name: "a cut body", act: same({ kind: "truncate" }), ready: MERGED, effects: once, calls: 1 },
  { name: "a garbled body", act: same({ kind: "garble" }), ready: MERGED, effects: once, calls: 1 },
  {
    name: "a head that moves",
    act: (pull) => ({
      kind: "first",
      run: () => github.seeds.commit(pull.repository, pull.headRef, "Nobody read this"),
    }),
    spec: (pull) => ({ expectedHeadSha: pull.headSha }),
    ready: { status: false, reason: "HeadChanged" },
    effects: [{ state: "rejected", attempts: 1 }],
    calls: 1,
  },
  {
    name: "a base that moves",
    act: (pull) => ({
      kind: "first",
      run: () => github.seeds.commit(pull.repository, "main", "The base moves"),
    }),
    ready: MERGED,
    effects: once,
    calls: 1,
  },
  {
    name: "a base that GitHub says has moved",
    act: same(acts.baseModified),
    ready: MERGED,
    effects: anew,
    calls: 1,
  },
];

describe("whatever happens to a merge call, through server and command line", () => {
  let stage: Stage;
  const asked = new Map<string, Asked>();
  let close = async () => {};

  beforeAll(async () => {
    // One server and one apply for all: their resources are looked after side by side.
    stage = pullRequestStage({ onTestFinished: (clean) => void (close = clean) });
    for (const { name, act, spec } of FAULTS) asked.set(name, await ask(stage, act, spec));
    await stage.startServer();
    await stage.ok(["apply", "-f", ".pi/resources"]);
  });
  afterAll(() => close());

  it.for(FAULTS)("E-2: $name ends in one merge at most, and says so", async (fault) => {
    const pull = asked.get(fault.name) as Asked;
    const { ready } = fault;
    await stage.untilReady(MANAGER, pull.key, ready.reason);
    const { metadata, status } = await stage.resource(MANAGER, pull.key);
    expect(status.conditions).toContainEqual(
      expect.objectContaining({ type: "Ready", ...ready, observedGeneration: metadata.generation }),
    );
    expect(status.conditions).toContainEqual(
      expect.objectContaining({ type: "Merged", status: ready.status }),
    );
    expect(mergesOf(github, pull)).toHaveLength(ready.status ? 1 : 0);
    expect(mergeCalls(github, pull)).toHaveLength(fault.calls);
    expect(await stage.effects(MANAGER, pull.key)).toMatchObject(fault.effects);
  });

  it("nothing is left open, and nothing is damaged", async () => {
    expect(await stage.json(["effects", "--open"])).toEqual({ effects: [] });
    await stage.stopServers();
    expect(stage.inspect((database) => database.pragma("integrity_check", { simple: true }))).toBe(
      "ok",
    );
  });
});

async function ask(stage: Stage, act: Fault["act"], spec: Fault["spec"]): Promise<Asked> {
  const pull = await askForMerge(stage, github, spec);
  github.fault({ ...mergeOf(pull), act: act(pull) });
  return pull;
}
