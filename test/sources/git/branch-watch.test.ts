import { expect, it, onTestFinished } from "vitest";
import { watchBranch } from "../../../src/sources/git/branch-watch.ts";
import { findRepository, type Repository } from "../../../src/sources/git/repository.ts";
import { makeRepository } from "./repository.ts";

/** Watches and lets a test await the next hint after something it did. */
function hints(repository: Repository, branch: string) {
  let notify: (() => void) | undefined;
  const watch = watchBranch(repository, branch, () => notify?.());
  onTestFinished(() => watch.close());
  return {
    watch,
    after: async (act: () => unknown) => {
      const hinted = new Promise<void>((resolve) => (notify = resolve));
      act();
      await hinted;
    },
  };
}

it("hints at a commit, an amend, packing, a reset and the end of a branch", async () => {
  const { folder, git, write, commit } = makeRepository();
  write("a", "1");
  const first = commit("first");
  const repository = (await findRepository(folder)) as Repository;
  const { watch, after } = hints(repository, "main");
  expect(watch.problem).toBeUndefined();
  await after(() => commit("second"));
  await after(() => git("commit", "--amend", "--quiet", "--allow-empty", "--message", "amended"));
  await after(() => git("pack-refs", "--all"));
  await after(() => git("update-ref", "refs/heads/main", first));
  await after(() => git("update-ref", "-d", "refs/heads/main"));
});

it("hints at a branch in folders that do not exist yet, and again after they went", async () => {
  const { folder, git, commit } = makeRepository();
  commit("first");
  const repository = (await findRepository(folder)) as Repository;
  const { watch, after } = hints(repository, "team/feature/x");
  await after(() => git("branch", "team/feature/x"));
  await after(() => git("branch", "-D", "team/feature/x"));
  await after(() => git("branch", "team/feature/x"));
  expect(watch.problem).toBeUndefined();
});

it("hints from a linked work tree at a commit made in another", async () => {
  const { folder, git, commit } = makeRepository();
  commit("first");
  git("worktree", "add", "--quiet", "-b", "side", "linked");
  const repository = (await findRepository(`${folder}/linked`)) as Repository;
  const { watch, after } = hints(repository, "main");
  await after(() => commit("on main"));
  expect(watch.problem).toBeUndefined();
});
