import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { changedFiles, listTree, readCommit } from "../../../src/sources/git/commits.ts";
import { openObjects } from "../../../src/sources/git/objects.ts";
import { findRepository, type Repository } from "../../../src/sources/git/repository.ts";
import { makeRepository } from "./repository.ts";

async function open(folder: string) {
  const repository = (await findRepository(folder)) as Repository;
  const objects = openObjects(repository);
  onTestFinished(() => objects.close());
  return { repository, objects };
}

describe("a repository", () => {
  it("is found from a folder inside it, and from a linked work tree with the same history", async () => {
    const { folder, git, write, commit } = makeRepository();
    write("deep/er/file.txt", "x");
    commit("first");
    const main = await findRepository(path.join(folder, "deep/er"));
    expect(main).toEqual({
      commonDir: path.join(folder, ".git"),
      gitDir: path.join(folder, ".git"),
      workTree: folder,
    });

    git("worktree", "add", "--quiet", "linked");
    const linked = await findRepository(path.join(folder, "linked"));
    expect(linked?.commonDir).toBe(main?.commonDir);
    expect(linked?.gitDir).not.toBe(main?.gitDir);
  });

  it("is none where there is none", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "pi-plain-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    expect(await findRepository(folder)).toBeUndefined();
  });
});

describe("objects", () => {
  it("are read as they are: empty, binary, large, many at once, and missing ones as none", async () => {
    const { folder, write, commit } = makeRepository();
    const large = "0123456789\n".repeat(300_000);
    write("empty", "");
    write("large", large);
    write("odd name\nwith line", "line\n\0zero");
    const head = commit("files");
    const { repository, objects } = await open(folder);
    const tree = await listTree(repository, head, []);
    const contents = await Promise.all(
      [...tree].map(
        async ([file, { oid }]) => [file, (await objects.read(oid))?.content.toString()] as const,
      ),
    );
    expect(Object.fromEntries(contents)).toEqual({
      empty: "",
      large,
      "odd name\nwith line": "line\n\0zero",
    });
    expect(await objects.read("f".repeat(40))).toBeUndefined();
    expect(await objects.read("no such name")).toBeUndefined();
    expect((await objects.read(`${head}:empty`))?.content.length).toBe(0);
  });

  it("of commits made after the reader began are seen, loose and packed", async () => {
    const { folder, git, write, commit } = makeRepository();
    const { objects } = await open(folder);
    expect(await readCommit(objects, "refs/heads/main")).toBeUndefined();

    write("a", "1");
    const first = commit("first");
    expect((await readCommit(objects, "refs/heads/main"))?.oid).toBe(first);

    write("a", "2");
    const second = commit("second");
    git("gc", "--quiet");
    const commitRead = await readCommit(objects, "refs/heads/main");
    expect(commitRead).toMatchObject({
      oid: second,
      tree: git("rev-parse", "HEAD^{tree}"),
      author: "Ada <ada@example.com>",
      subject: "second",
    });
    expect(commitRead?.at).toBe(Number(git("show", "-s", "--format=%ct")) * 1_000);
  });

  it("can't be read after the reader was closed", async () => {
    const { folder, commit } = makeRepository();
    commit("empty");
    const { objects } = await open(folder);
    await objects.close();
    await expect(objects.read("HEAD")).rejects.toMatchObject({ code: "GIT_FAILED" });
  });
});

describe("trees", () => {
  it("list files below folders only, and say which are links", async () => {
    const { folder, write, commit } = makeRepository();
    write(".pi/resources/a.resource.json", "{}");
    write("src/b.ts", "");
    symlinkSync("a.resource.json", path.join(folder, ".pi/resources/link.resource.json"));
    const head = commit("files");
    const { repository } = await open(folder);
    const files = await listTree(repository, head, [".pi/resources"]);
    expect([...files].map(([file, { mode }]) => [file, mode])).toEqual([
      [".pi/resources/a.resource.json", "file"],
      [".pi/resources/link.resource.json", "symlink"],
    ]);
  });

  it("tell what was added, changed, deleted and moved", async () => {
    const { folder, git, write, commit } = makeRepository();
    write("specs/stays", "same");
    write("specs/changes", "before");
    write("specs/goes", "gone");
    write("specs/moves", "a body that is long enough to be told from others\n".repeat(5));
    write("other/moves", "outside");
    const before = commit("before");
    write("specs/changes", "after");
    write("specs/new", "new");
    git("rm", "--quiet", "specs/goes");
    git("mv", "specs/moves", "specs/moved");
    const after = commit("after");
    const { repository } = await open(folder);
    expect(await changedFiles(repository, [before, after], ["specs"])).toEqual([
      { kind: "changed", path: "specs/changes" },
      { kind: "deleted", path: "specs/goes" },
      { kind: "moved", path: "specs/moved", from: "specs/moves" },
      { kind: "added", path: "specs/new" },
    ]);
    expect(await changedFiles(repository, [after, after], ["specs"])).toEqual([]);
  });

  it("that can't be listed say why", async () => {
    const { folder, commit } = makeRepository();
    commit("empty");
    const { repository } = await open(folder);
    await expect(listTree(repository, "f".repeat(40), [])).rejects.toMatchObject({
      code: "GIT_FAILED",
    });
  });
});
