import type { PullRequestSpec } from "./spec.ts";

/** A pull request in the words of GitHub's routes. */
export type Target = {
  owner: string;
  repo: string;
  number: number;
  baseRef: string;
};

export function targetOf(spec: Pick<PullRequestSpec, "repository" | "number" | "baseRef">): Target {
  const [owner = "", repo = ""] = spec.repository.split("/");
  return { owner, repo, number: spec.number, baseRef: spec.baseRef };
}
