import { symlinkSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { formatProblem } from "../../../src/model/manifest.ts";
import { findCommittedSpecs } from "../../../src/sources/git/committed-specs.ts";
import { makeRepository } from "./repository.ts";

/** A repository with a file of its own name in each place. */
function repository(...files: string[]) {
  const made = makeRepository();
  for (const file of files) made.write(file, file);
  return {
    ...made,
    link: (target: string, file: string) => symlinkSync(target, path.join(made.folder, file)),
    find: async (commit: string, ...roots: string[]) => {
      const gitDir = path.join(made.folder, ".git");
      const { specs, problems } = await findCommittedSpecs({ gitDir }, commit, roots);
      return { specs: [...specs.keys()], problems: problems.map(formatProblem) };
    },
  };
}

describe("Spec files of a commit", () => {
  it("are those below the roots that are called so, and no others", async () => {
    const { commit, find } = repository(
      "specs/a.resource.json",
      "specs/deep/b.resource.ts",
      "specs/deep/helper.ts",
      "specs/node_modules/x/c.resource.json",
      "specsnot/d.resource.json",
      "other/e.resource.mjs",
    );
    const head = commit("specs");
    const inSpecs = ["specs/a.resource.json", "specs/deep/b.resource.ts"];
    expect(await find(head, "specs")).toEqual({ specs: inSpecs, problems: [] });
    expect(await find(head, "specs/deep", "other")).toEqual({
      specs: ["other/e.resource.mjs", "specs/deep/b.resource.ts"],
      problems: [],
    });
    expect((await find(head, ".")).specs).toHaveLength(4);
    expect(await find(head, "gone")).toEqual({ specs: [], problems: [] });
  });

  it("are told apart from workflows, of which it is told whether there are any", async () => {
    const { commit, find, folder, git } = repository(
      "specs/a.resource.json",
      ".pi/workflows/hello.workflow.ts",
      ".pi/workflows/b.resource.json",
    );
    const head = commit("both");
    const hasWorkflows = async (of: string, root: string) =>
      (await findCommittedSpecs({ gitDir: path.join(folder, ".git") }, of, [root])).hasWorkflows;
    expect((await find(head, "specs")).specs).toEqual(["specs/a.resource.json"]);
    const all = [".pi/workflows/b.resource.json", "specs/a.resource.json"];
    expect((await find(head, ".")).specs).toEqual(all);
    expect((await find(head, ".pi")).specs).toEqual(all.slice(0, 1));
    expect(await hasWorkflows(head, "specs")).toBe(true);
    expect(await hasWorkflows(head, ".")).toBe(true);
    git("rm", "-r", "--quiet", ".pi");
    expect(await hasWorkflows(commit("no workflow"), "specs")).toBe(false);
  });

  it("may be links to files of the same tree, and a root may be a link to a folder", async () => {
    const { commit, find, link } = repository("specs/a.resource.json", "shared/real.json");
    link("../shared/real.json", "specs/linked.resource.json");
    link("a.resource.json", "specs/twice.resource.json");
    link("loop.resource.json", "specs/loop.resource.json");
    link("/etc/hostname", "specs/out.resource.json");
    link("gone", "specs/gone.resource.json");
    link("../shared", "specs/folder.resource.json");
    link("specs", "root");
    link("/tmp", "away");
    const head = commit("links");
    const found = await find(head, "specs");
    expect(found).toEqual({
      specs: ["specs/a.resource.json", "specs/linked.resource.json"],
      problems: [
        "specs/folder.resource.json:1:1: a link to a folder is not followed; name shared instead",
        "specs/gone.resource.json:1:1: the symbolic link leads nowhere",
        "specs/loop.resource.json:1:1: the symbolic link leads back to itself",
        "specs/out.resource.json:1:1: the symbolic link leads out of the commit, to /etc/hostname",
        "specs/twice.resource.json:1:1: this is the same file as specs/a.resource.json; keep one",
      ],
    });
    expect(await find(head, "root")).toEqual(found);
    expect((await find(head, "away")).problems).toEqual([
      "away:1:1: the symbolic link leads out of the commit, to /tmp",
    ]);
  });

  it("are never those of a submodule, which is named", async () => {
    const inner = repository("x.resource.json");
    inner.commit("inner");
    const { commit, find, git } = repository("specs/a.resource.json");
    const file = ["-c", "protocol.file.allow=always"];
    git(...file, "submodule", "--quiet", "add", inner.folder, "specs/sub");
    const head = commit("submodule");
    const found = await find(head, "specs");
    expect(found.specs).toEqual(["specs/a.resource.json"]);
    expect(found.problems).toEqual([
      expect.stringMatching(/^specs\/sub:1:1: is a submodule/) as string,
    ]);
    expect((await find(head, "specs/sub/inner")).problems).toEqual([
      expect.stringMatching(
        /^specs\/sub\/inner:1:1: it lies in the submodule specs\/sub/,
      ) as string,
    ]);
  });
});
