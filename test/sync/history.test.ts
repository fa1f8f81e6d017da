import { execFileSync } from "node:child_process";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { tempFolder } from "../server/temp.ts";
import {
  buildResolver,
  conditionOf,
  enabled,
  getWidget,
  sizes,
  specFile,
  syncedTo,
  syncServer,
  widget,
  widgetRepository,
  writeWidgets,
  type Repo,
} from "./syncing.ts";

beforeAll(buildResolver);

/** A repository with widgets a and b, synced. */
async function synced() {
  const repo = widgetRepository();
  writeWidgets(repo, { a: 1, b: 1 });
  const base = repo.commit("a and b");
  const { client } = await syncServer();
  await enabled(client, repo);
  return { repo, client, base };
}

describe("the bound branch", () => {
  it("may be amended, forced elsewhere, rebased and merged: the store ends as its newest commit", async () => {
    const { repo, client, base } = await synced();
    writeWidgets(repo, { a: 2 });
    repo.commit("a is larger");
    repo.git("add", "--all");
    writeWidgets(repo, { a: 3 });
    repo.git("commit", "--quiet", "--all", "--amend", "--message", "a is larger still");
    await syncedTo(client, repo.folder, repo.git("rev-parse", "HEAD"));
    expect(await sizes(client, repo.folder)).toEqual({ a: 3, b: 1 });

    repo.git("reset", "--quiet", "--hard", base);
    await syncedTo(client, repo.folder, base);
    expect(await sizes(client, repo.folder)).toEqual({ a: 1, b: 1 });

    repo.git("checkout", "--quiet", "-b", "topic");
    writeWidgets(repo, { b: 5 });
    repo.commit("b on topic");
    repo.git("checkout", "--quiet", "main");
    writeWidgets(repo, { c: 7 });
    repo.commit("c on main");
    repo.git("merge", "--quiet", "--no-edit", "topic");
    await syncedTo(client, repo.folder, repo.git("rev-parse", "main"));
    expect(await sizes(client, repo.folder)).toEqual({ a: 1, b: 5, c: 7 });

    repo.git("reset", "--quiet", "--hard", "HEAD~1");
    repo.git("rebase", "--quiet", "topic");
    const rebased = await syncedTo(client, repo.folder, repo.git("rev-parse", "main"));
    expect(await sizes(client, repo.folder)).toEqual({ a: 1, b: 5, c: 7 });
    expect(rebased.report.attempted).toMatchObject({ outcome: "applied" });
  });

  it("with another commit of the same tree is only recorded", async () => {
    const { repo, client } = await synced();
    const before = (await client.status()).store.revision;
    const commit = repo.commit("nothing");
    const status = await syncedTo(client, repo.folder, commit);
    expect(status.report.applied?.revision.id).toBe(commit);
    expect(status.report.attempted?.counts).toMatchObject({ unchanged: 2, create: 0, update: 0 });
    expect(conditionOf(status, "Synced")).toMatchObject({ status: true, revision: commit });
    expect((await client.status()).store.revision).toBe(before);
  });

  it("that is deleted, or not there yet, applies nothing, prunes nothing, and is waited for", async () => {
    const { repo, client, base } = await synced();
    repo.git("checkout", "--quiet", "--detach");
    repo.git("branch", "--quiet", "-D", "main");
    const gone = await client.syncNow(repo.folder);
    expect(conditionOf(gone, "SourceValid")).toMatchObject({
      status: false,
      reason: "BranchMissing",
      message: expect.stringContaining("main"),
    });
    expect(await sizes(client, repo.folder)).toEqual({ a: 1, b: 1 });

    repo.git("checkout", "--quiet", "-b", "main", base);
    writeWidgets(repo, { a: 4 });
    const back = await syncedTo(client, repo.folder, repo.commit("a again"));
    expect(conditionOf(back, "SourceValid").status).toBe(true);
    expect(await sizes(client, repo.folder)).toEqual({ a: 4, b: 1 });
  });

  it("can be one with slashes that comes to be later, packed or loose", async () => {
    const { repo, client } = await synced();
    await client.syncEnable({ project: repo.folder, branch: "releases/next" });
    const waiting = await client.syncNow(repo.folder);
    expect(conditionOf(waiting, "Synced")).toMatchObject({ reason: "BranchMissing" });
    repo.git("checkout", "--quiet", "-b", "releases/next");
    writeWidgets(repo, { a: 6 });
    const commit = repo.commit("a on next");
    repo.git("pack-refs", "--all");
    await syncedTo(client, repo.folder, commit);
    expect(await sizes(client, repo.folder)).toEqual({ a: 6, b: 1 });
  });
});

describe("A-12: with sync bound to a branch", () => {
  it("another branch in the work tree, with other specs, changes nothing", async () => {
    const { repo, client } = await synced();
    repo.git("checkout", "--quiet", "-b", "other");
    repo.git("rm", "--quiet", specFile("b"));
    writeWidgets(repo, { a: 99, d: 4 });
    repo.commit("other specs");
    const status = await client.syncNow(repo.folder);
    expect(await sizes(client, repo.folder)).toEqual({ a: 1, b: 1 });
    expect(status.report.problems).toEqual([]);
  });

  it("edited, broken and staged files in the work tree change nothing", async () => {
    const { repo, client } = await synced();
    repo.write(specFile("a"), "broken");
    writeWidgets(repo, { b: 50, c: 3 });
    repo.git("add", "--all");
    repo.write(".pi/resource-managers/widget.resource-manager.mjs", "broken(");
    const status = await client.syncNow(repo.folder);
    expect(await sizes(client, repo.folder)).toEqual({ a: 1, b: 1 });
    expect(status.report.problems).toEqual([]);
  });

  it("what is committed to it counts, not what the work tree of another branch holds", async () => {
    const { repo, client } = await synced();
    repo.git("checkout", "--quiet", "-b", "other");
    repo.write(specFile("a"), "broken");
    repo.write(".pi/resource-managers/widget.resource-manager.mjs", "broken(");
    repo.git("rm", "--quiet", specFile("b"));
    repo.commit("other specs");
    const second = path.join(tempFolder(), "second");
    repo.git("worktree", "add", "--quiet", second, "main");
    writeFileSync(path.join(second, specFile("a")), widget("a", { size: 8 }));
    writeFileSync(path.join(second, specFile("c")), widget("c", { size: 9 }));
    execFileSync("git", ["-C", second, "add", "--all"]);
    repo.git("-C", second, "commit", "--quiet", "--message", "from a second work tree");
    const status = await syncedTo(client, repo.folder, repo.git("rev-parse", "main"));
    expect(status.report.problems).toEqual([]);
    expect(await sizes(client, repo.folder)).toEqual({ a: 8, b: 1, c: 9 });
  });

  it("a rebase that stopped at a conflict changes nothing until it has moved the branch", async () => {
    const { repo, client } = await synced();
    repo.git("checkout", "--quiet", "-b", "topic");
    writeWidgets(repo, { a: 2 });
    repo.commit("a on topic");
    repo.git("checkout", "--quiet", "main");
    writeWidgets(repo, { a: 3 });
    const before = repo.commit("a on main");
    await syncedTo(client, repo.folder, before);
    expect(() => repo.git("rebase", "--quiet", "topic")).toThrow("rebase");
    await client.syncNow(repo.folder);
    expect(await sizes(client, repo.folder)).toEqual({ a: 3, b: 1 });
    writeWidgets(repo, { a: 4 });
    repo.git("add", "--all");
    repo.git("-c", "core.editor=true", "rebase", "--continue");
    await syncedTo(client, repo.folder, repo.git("rev-parse", "main"));
    expect(await sizes(client, repo.folder)).toEqual({ a: 4, b: 1 });
  });

  it("a second work tree is refused, naming the first, unless it is enabled by name", async () => {
    const { repo, client } = await synced();
    const second = path.join(tempFolder(), "second");
    repo.git("worktree", "add", "--quiet", "-b", "side", second);
    const refused = client.syncEnable({ project: second, branch: "side" });
    await expect(refused).rejects.toMatchObject({
      code: "CONFLICT",
      message: expect.stringContaining(repo.folder),
      hint: expect.stringContaining("--worktree second"),
    });
    await expect(client.syncEnable({ project: second, worktree: "another" })).rejects.toMatchObject(
      { code: "USAGE" },
    );
    expect(await client.syncStatus()).toHaveLength(1);

    await client.syncEnable({ project: second, branch: "side", worktree: "second" });
    await client.syncNow(second);
    expect(await sizes(client, second)).toEqual({ a: 1, b: 1 });
    expect(await client.syncStatus()).toHaveLength(2);
  });

  it("a linked work tree is refused where it is the first, too, unless it is named", async () => {
    const repo = widgetRepository();
    const linked = path.join(tempFolder(), "linked");
    repo.git("worktree", "add", "--quiet", "-b", "side", linked);
    const { client } = await syncServer();
    await expect(client.syncEnable({ project: linked })).rejects.toMatchObject({
      code: "CONFLICT",
    });
    const status = await client.syncEnable({ project: linked, worktree: linked });
    expect(status.set).toMatchObject({
      commonDir: path.join(repo.folder, ".git"),
      source: { kind: "committed", branch: "side" },
    });
  });
});

describe("a root that holds no spec file", () => {
  it("is named, since it may be misspelt; where there are files is none of it", async () => {
    const repo = widgetRepository();
    repo.write("specs/a.resource.json", widget("a", { size: 1 }));
    repo.commit("a");
    const { client } = await syncServer();
    const status = await enabled(client, repo, { roots: ["sepcs", "specs"] });
    expect(conditionOf(status, "SourceValid")).toMatchObject({
      status: true,
      message: expect.stringContaining("there is no spec file in sepcs"),
    });
    expect(await sizes(client, repo.folder)).toEqual({ a: 1 });
    await expect(
      client.syncEnable({ project: repo.folder, roots: ["../elsewhere"] }),
    ).rejects.toMatchObject({ code: "USAGE" });
  });
});

describe("A-8: a spec file that is moved", () => {
  it("keeps the uid and generation of its resource, whatever else the commit does", async () => {
    const { repo, client } = await synced();
    const before = await getWidget(client, repo.folder, "a");
    repo.git("mv", specFile("a"), ".pi/resources/renamed.resource.json");
    mkdirSync(path.join(repo.folder, ".pi/resources/deep"));
    repo.git("mv", specFile("b"), ".pi/resources/deep/b.resource.json");
    const commit = repo.commit("both move");
    const status = await syncedTo(client, repo.folder, commit);
    expect(status.report.attempted).toMatchObject({ counts: { move: 2, prune: 0 } });
    const after = await getWidget(client, repo.folder, "a");
    expect(after.resource.metadata.uid).toBe(before.resource.metadata.uid);
    expect(after.resource.metadata.generation).toBe(1);
    expect(after.origin).toMatchObject({ file: ".pi/resources/renamed.resource.json", commit });
  });
});

describe("a repository that can't be read as it should", () => {
  it("is told apart: gone, back, or another one in its place", async () => {
    const { repo, client } = await synced();
    const aside = `${repo.folder}-aside`;
    renameSync(path.join(repo.folder, ".git"), aside);
    const gone = await client.syncNow(repo.folder);
    expect(conditionOf(gone, "SourceValid")).toMatchObject({ reason: "RepositoryUnreadable" });
    renameSync(aside, path.join(repo.folder, ".git"));
    const back = await client.syncNow(repo.folder);
    expect(conditionOf(back, "SourceValid").status).toBe(true);
    expect(await sizes(client, repo.folder)).toEqual({ a: 1, b: 1 });

    rmSync(path.join(repo.folder, ".git"), { recursive: true });
    const elsewhere = widgetRepository();
    writeFileSync(path.join(repo.folder, ".git"), `gitdir: ${elsewhere.folder}/.git\n`);
    const other = await client.syncNow(repo.folder);
    expect(conditionOf(other, "SourceValid")).toMatchObject({
      reason: "RepositoryChanged",
      message: expect.stringContaining(elsewhere.folder),
    });
    expect(await sizes(client, repo.folder)).toEqual({ a: 1, b: 1 });
  });

  it("is synced where it is a shallow clone, and new commits of it too", async () => {
    const { repo, client } = await synced();
    writeWidgets(repo, { a: 2 });
    repo.commit("a is larger");
    const clone = path.join(tempFolder(), "clone");
    shallowClone(repo, clone);
    await client.syncEnable({ project: clone });
    const status = await client.syncNow(clone);
    expect(conditionOf(status, "Synced").status).toBe(true);
    expect(await sizes(client, clone)).toEqual({ a: 2, b: 1 });
  });

  it("says which path is a submodule, and prunes nothing", async () => {
    const { repo, client } = await synced();
    const inner = widgetRepository();
    inner.write("x.resource.json", widget("x", { size: 1 }));
    inner.commit("x");
    repo.git(
      "-c",
      "protocol.file.allow=always",
      "submodule",
      "--quiet",
      "add",
      inner.folder,
      ".pi/resources/inner",
    );
    repo.git("rm", "--quiet", specFile("b"));
    const status = await syncedTo(client, repo.folder, repo.commit("a submodule"));
    expect(status.report.problems).toMatchObject([
      { file: ".pi/resources/inner", message: expect.stringContaining("submodule") },
    ]);
    expect(await sizes(client, repo.folder)).toEqual({ a: 1, b: 1 });
  });

  it("says so where the root itself lies in a submodule", async () => {
    const repo = widgetRepository();
    const inner = widgetRepository();
    inner.write("resources/x.resource.json", widget("x", { size: 1 }));
    inner.commit("x");
    repo.git(
      "-c",
      "protocol.file.allow=always",
      "submodule",
      "--quiet",
      "add",
      inner.folder,
      "specs",
    );
    repo.commit("specs are a submodule");
    const { client } = await syncServer();
    const status = await enabled(client, repo, { roots: ["specs/resources"] });
    expect(status.report.problems).toMatchObject([
      { file: "specs/resources", message: expect.stringContaining("submodule specs") },
    ]);
  });
});

function shallowClone({ folder }: Repo, to: string): void {
  execFileSync("git", ["clone", "--quiet", "--depth=1", `file://${folder}`, to], {
    stdio: "ignore",
  });
}
