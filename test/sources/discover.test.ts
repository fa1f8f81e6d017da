import { chmodSync, mkdirSync, symlinkSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { formatProblem } from "../../src/model/manifest.ts";
import { discoverSpecs, type DiscoverRequest } from "../../src/sources/discover.ts";
import { type TempProject, tempProject } from "./temp-project.ts";

function find(project: TempProject, paths: string[], request: Partial<DiscoverRequest> = {}) {
  const found = discoverSpecs({
    project: project.root,
    cwd: project.root,
    recursive: false,
    paths,
    ...request,
  });
  return {
    files: found.files.map((file) => path.relative(project.root, file)),
    problems: found.problems.map(formatProblem),
  };
}

const TREE = {
  "specs/a.resource.json": "{}",
  "specs/b.resource.ts": "",
  "specs/c.resource.mjs": "",
  "specs/d.json": "{}",
  "specs/e.ts": "",
  "specs/deep/f.resource.json": "{}",
  "specs/node_modules/g.resource.json": "{}",
  "specs/.git/h.resource.json": "{}",
  "specs/.hidden/i.resource.json": "{}",
};

describe("discovery of spec files", () => {
  it("takes the spec files of a folder, and those below it when asked to", () => {
    const project = tempProject(TREE);
    const top = ["specs/a.resource.json", "specs/b.resource.ts", "specs/c.resource.mjs"];
    expect(find(project, ["specs"])).toEqual({ files: top, problems: [] });
    expect(find(project, ["specs"], { recursive: true })).toEqual({
      files: ["specs/.hidden/i.resource.json", ...top, "specs/deep/f.resource.json"],
      problems: [],
    });
  });

  it("takes a file that is named, whatever its name before .json or .ts", () => {
    const project = tempProject(TREE);
    expect(find(project, ["specs/d.json", "specs/e.ts"]).files).toEqual([
      "specs/d.json",
      "specs/e.ts",
    ]);
    project.write("notes.txt", "");
    expect(find(project, ["notes.txt"]).problems).toEqual([
      "notes.txt:1:1: not a spec file: its name must end in .resource.json or .resource.ts",
    ]);
  });

  it("takes what a glob matches, and a file whose name looks like one", () => {
    const project = tempProject({ ...TREE, "specs/[x].resource.json": "{}" });
    expect(find(project, ["specs/**/*.json"]).files).toEqual([
      "specs/.hidden/i.resource.json",
      "specs/[x].resource.json",
      "specs/a.resource.json",
      "specs/deep/f.resource.json",
    ]);
    expect(find(project, ["specs/[x].resource.json"]).files).toEqual(["specs/[x].resource.json"]);
    expect(find(project, ["none/*.json"]).problems).toEqual([
      "none/*.json:1:1: the pattern matches no spec file",
    ]);
  });

  it("takes a file once that is named in several ways", () => {
    const project = tempProject(TREE);
    const paths = ["specs", "specs/a.resource.json", "./specs/../specs/a*.json"];
    expect(find(project, paths)).toMatchObject({ problems: [] });
    expect(find(project, paths).files).toHaveLength(3);
  });

  it("says what is not there", () => {
    expect(find(tempProject(), ["gone"]).problems).toEqual(["gone:1:1: no such file or folder"]);
  });

  it("keeps to the project's own path where it is reached through a link", () => {
    const project = tempProject(TREE);
    const elsewhere = tempProject();
    symlinkSync(project.root, elsewhere.path("link"));
    expect(find(project, ["specs"], { cwd: elsewhere.path("link") }).files).toHaveLength(3);
    expect(find(project, ["specs/a.resource.json"], { cwd: elsewhere.path("link") }).files).toEqual(
      ["specs/a.resource.json"],
    );
  });
});

describe("symbolic links", () => {
  it("to a file of the project are read as that file", () => {
    const project = tempProject({ "lib/a.json": "{}", "specs/.keep": "" });
    symlinkSync("../lib/a.json", project.path("specs/a.resource.json"));
    expect(find(project, ["specs"])).toEqual({ files: ["specs/a.resource.json"], problems: [] });
  });

  it("to a file that is read as well are refused, naming both", () => {
    const project = tempProject({ "specs/a.resource.json": "{}" });
    symlinkSync("a.resource.json", project.path("specs/b.resource.json"));
    expect(find(project, ["specs"]).problems).toEqual([
      "specs/b.resource.json:1:1: this is the same file as specs/a.resource.json; keep one",
    ]);
  });

  it("out of the project are refused, unless they are named", () => {
    const project = tempProject({ "specs/.keep": "" });
    const outside = tempProject({ "x.json": "{}" });
    symlinkSync(outside.path("x.json"), project.path("specs/a.resource.json"));
    expect(find(project, ["specs"]).problems).toEqual([
      `specs/a.resource.json:1:1: the symbolic link leads out of the project, to ${outside.path("x.json")}`,
    ]);
    expect(find(project, ["specs/a.resource.json"]).files).toEqual(["specs/a.resource.json"]);
  });

  it("that lead back to themselves are refused", () => {
    const project = tempProject({ "specs/.keep": "" });
    symlinkSync("loop.resource.json", project.path("specs/loop.resource.json"));
    expect(find(project, ["specs"]).problems).toEqual([
      "specs/loop.resource.json:1:1: the symbolic link leads back to itself",
    ]);
    expect(find(project, ["specs/loop.resource.json"]).problems).toEqual([
      "specs/loop.resource.json:1:1: the symbolic link leads back to itself",
    ]);
  });

  it("to a folder around themselves are refused, and end", () => {
    const project = tempProject({ "specs/deep/a.resource.json": "{}" });
    symlinkSync("../..", project.path("specs/deep/up"));
    expect(find(project, ["specs"], { recursive: true })).toEqual({
      files: ["specs/deep/a.resource.json"],
      problems: [
        expect.stringMatching(
          /^specs\/deep\/up:1:1: the symbolic link leads back to .*, around itself$/,
        ),
      ],
    });
  });

  it("to a folder elsewhere are not followed, and that is said", () => {
    const project = tempProject({ "specs/.keep": "", "lib/a.resource.json": "{}" });
    symlinkSync("../lib", project.path("specs/more"));
    expect(find(project, ["specs"], { recursive: true }).problems).toEqual([
      "specs/more:1:1: a link to a folder is not followed; name lib instead",
    ]);
  });

  it("to nowhere are refused", () => {
    const project = tempProject({ "specs/.keep": "" });
    symlinkSync("gone", project.path("specs/a.resource.json"));
    expect(find(project, ["specs"]).problems).toEqual([
      "specs/a.resource.json:1:1: the symbolic link leads nowhere",
    ]);
  });
});

describe("what can't be read", () => {
  it("a folder in a spec file's place is named", () => {
    const project = tempProject();
    mkdirSync(project.path("specs/a.resource.json"), { recursive: true });
    expect(find(project, ["specs"])).toEqual({ files: [], problems: [] });
    expect(find(project, ["specs"], { recursive: true })).toEqual({ files: [], problems: [] });
  });

  // The superuser may read everything.
  it.skipIf(process.getuid?.() === 0)("a folder without permission is named", () => {
    const project = tempProject({ "specs/deep/a.resource.json": "{}" });
    chmodSync(project.path("specs/deep"), 0o000);
    expect(find(project, ["specs"], { recursive: true }).problems).toEqual([
      "specs/deep:1:1: can't be read: permission denied",
    ]);
    chmodSync(project.path("specs/deep"), 0o700);
  });
});
