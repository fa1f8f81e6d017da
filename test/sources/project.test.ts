import { mkdirSync, symlinkSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { displayPath, projectOf } from "../../src/sources/project.ts";
import { tempProject } from "./temp-project.ts";

describe("the project of a folder", () => {
  it("is the top of the git work tree around it", () => {
    const made = tempProject({ ".git/HEAD": "", "a/.pi/x": "", "a/b/c": "" });
    expect(projectOf(made.path("a/b"))).toBe(made.root);
  });

  it("also where .git is a file, as in a linked work tree", () => {
    const made = tempProject({ "tree/.git": "gitdir: elsewhere", "tree/a/x": "" });
    expect(projectOf(made.path("tree/a"))).toBe(made.path("tree"));
  });

  it("is the nearest folder with .pi where there is no git", () => {
    const made = tempProject({ "a/.pi/x": "", "a/b/c/x": "" });
    expect(projectOf(made.path("a/b/c"))).toBe(made.path("a"));
  });

  it("is the folder itself where there is neither", () => {
    const made = tempProject({ "a/b/x": "" });
    expect(projectOf(made.path("a/b"))).toBe(made.path("a/b"));
  });

  it("is the real path, however it is reached", () => {
    const made = tempProject({ "real/.git/HEAD": "", "real/sub/x": "" });
    symlinkSync(made.path("real/sub"), made.path("link"));
    expect(projectOf(made.path("link"))).toBe(made.path("real"));
  });

  it("is not the home folder for the agent's own .pi", () => {
    const made = tempProject({ ".pi/agent/x": "" });
    mkdirSync(made.path("work"));
    const home = process.env["HOME"];
    process.env["HOME"] = made.root;
    try {
      expect(projectOf(made.path("work"))).toBe(made.path("work"));
    } finally {
      process.env["HOME"] = home;
    }
  });
});

it("paths are shown relative inside the project and whole outside", () => {
  expect(displayPath("/p", "/p/a/b.json")).toBe("a/b.json");
  expect(displayPath("/p", "/q/b.json")).toBe("/q/b.json");
  expect(displayPath("/p", "/p..x/b.json")).toBe("/p..x/b.json");
  expect(displayPath("/p", "/p/..x/b.json")).toBe("..x/b.json");
});
