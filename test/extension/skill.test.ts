import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { buildCommandLine, makeWorkspace } from "../cli/command-line.ts";

const SKILL = path.resolve(import.meta.dirname, "../../skills/pi-workflows");
const text = readFileSync(path.join(SKILL, "SKILL.md"), "utf8");

beforeAll(() => buildCommandLine());
const workspace = makeWorkspace();

describe("the skill", () => {
  it("has the head that agents look for", () => {
    const [, head = ""] = /^---\n([\s\S]*?)\n---\n/.exec(text) ?? [];
    const members = new Map(
      head.split("\n").map((line) => line.split(/: (.*)/s) as [string, string]),
    );
    expect(members.get("name")).toBe("pi-workflows");
    expect(members.get("description")?.length).toBeLessThanOrEqual(1_024);
  });

  it("names files that are there", () => {
    const named = [...text.matchAll(/`((?:\.\.\/|examples\/)[\w./-]*)`/g)].map(
      ([, file]) => file as string,
    );
    expect(named.length).toBeGreaterThan(4);
    const missing = named.filter((file) => !existsSync(path.join(SKILL, file)));
    expect(missing).toEqual([]);
  });

  it("shows a spec that its example manager takes, as its example files do", async () => {
    cpSync(path.join(SKILL, "examples"), workspace.project, { recursive: true });
    for (const folder of ["notes", "drafts", "downloads"])
      mkdirSync(path.join(workspace.project, folder));
    const [, snippet = ""] = /```json\n([\s\S]*?)```/.exec(text) ?? [];
    writeFileSync(path.join(workspace.project, "shown.resource.json"), snippet);
    expect(await workspace.ok(["diff", "-f", "shown.resource.json"], { code: 1 })).toContain(
      "folder-size downloads",
    );
    expect(await workspace.ok(["apply", "-f", ".pi/resources", "--wait"])).toContain(
      "3 of 3 ready",
    );
    workspace.write("notes/long.txt", "x".repeat(100_001));
    await workspace.ok(["reconcile", "folder-size", "notes"]);
    await workspace.ok(["wait", "folder-size", "notes", "--for", "condition=Blocked"]);
  });

  it("has a workflow that counts, and asks where there is too much", async () => {
    await workspace.ok(["workflow", "validate"]);
    workspace.write("some.txt", "one two three");
    const run = (most: number) => {
      const input = JSON.stringify({ file: "some.txt", most });
      return workspace.run([
        "run",
        "start",
        "count-words",
        "--wait",
        "-o",
        "json",
        "--input",
        input,
      ]);
    };
    expect((await run(5)).stdout).toContain('"words": 3');
    expect((await run(2)).stdout).toContain("It has 3 words. Take it all the same?");
  });
});
