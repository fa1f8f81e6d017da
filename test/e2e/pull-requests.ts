import { expect } from "vitest";
import type { PullRequestSpecInput } from "../../examples/pull-request/.pi/resource-managers/pull-request/spec.ts";
import type { SeededPull } from "../github/seeds.mjs";
import type { GitHub } from "../github/stand-in.mjs";
import { Stage, type Lifetime } from "./stage.ts";

export const MANAGER = "pull-request";

/** Everything that the manager may wait for is shortened; limits and windows stay in force. */
export const SHORT_WAITS = {
  PULL_REQUEST_POLL_MS: "250",
  PULL_REQUEST_SETTLE_MS: "1500",
  PULL_REQUEST_WRITE_SPACING_MS: "0",
};

/** A stage whose project holds the pull-request manager, committed. */
export function pullRequestStage(test: Lifetime, env: NodeJS.ProcessEnv = {}): Stage {
  const stage = new Stage(test, { ...SHORT_WAITS, ...env });
  stage.useExample(MANAGER);
  stage.commit("The pull-request manager");
  return stage;
}

/** A pull request with a green check in a repository of its own, and a committed spec for it. */
export async function askForMerge(
  stage: Stage,
  github: GitHub,
  more: (pull: SeededPull) => Partial<PullRequestSpecInput> = () => ({}),
): Promise<SeededPull & { key: string }> {
  const repository = await github.seeds.repository();
  const pull = await github.seeds.pull(repository);
  await github.seeds.check(repository, pull.headSha);
  const key = `${repository}#${pull.number}`;
  const spec = {
    repository,
    number: pull.number,
    baseRef: "main",
    apiUrl: github.url,
    ...more(pull),
  };
  const file = `.pi/resources/${repository.replace("/", "-")}.resource.json`;
  stage.write(file, { resourceManager: MANAGER, key, spec });
  stage.commit(`Ask for ${key}`);
  return { ...pull, key };
}

/** What the merge of one pull request is called with; a rule of the stand-in takes just it. */
export function mergeOf(pull: SeededPull): { method: string; path: RegExp } {
  return {
    method: "PUT",
    path: new RegExp(`^/repos/${pull.repository}/pulls/${pull.number}/merge$`),
  };
}

/** Merge calls of one pull request that reached GitHub, refused ones too. */
export function mergeCalls(github: GitHub, pull: SeededPull) {
  return github.writes.filter(({ pathname }) => mergeOf(pull).path.test(pathname));
}

/** Merges of one pull request that GitHub carried out. */
export function mergesOf(github: GitHub, pull: SeededPull) {
  return mergeCalls(github, pull).filter(({ status }) => status < 300);
}

/** One merge at GitHub, a ledger that says so, and a resource that is ready. */
export async function expectMergedOnce(
  stage: Stage,
  github: GitHub,
  { pull, attempts }: { pull: SeededPull & { key: string }; attempts: number },
): Promise<void> {
  await stage.ok(["wait", MANAGER, pull.key, "--timeout", "2m"]);
  const merges = mergesOf(github, pull);
  expect(merges).toHaveLength(1);
  expect(mergeCalls(github, pull)).toHaveLength(1);
  expect(await stage.effects(MANAGER, pull.key)).toMatchObject([
    {
      kind: "github-merge",
      state: "applied",
      externalRef: merges[0]?.answer.sha,
      attempts,
      parked: false,
    },
  ]);
  const { metadata, status } = await stage.resource(MANAGER, pull.key);
  expect(status.observedGeneration).toBe(metadata.generation);
  const ready = status.conditions.find(({ type }) => type === "Ready");
  expect(ready).toMatchObject({ status: true, reason: "Merged", observedGeneration: 1 });
}
