import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { complete, type Names } from "../../src/extension/completion.ts";
import { RESOURCE_MANAGER, WORKFLOW } from "../../src/extension/verbs.ts";

const cwd = mkdtempSync(path.join(tmpdir(), "pw-completion-"));
afterAll(() => rmSync(cwd, { recursive: true, force: true }));
mkdirSync(path.join(cwd, ".pi/resources"), { recursive: true });
mkdirSync(path.join(cwd, "node_modules"));
for (const file of ["b.resource.ts", "a b.resource.json", "notes.md"]) {
  writeFileSync(path.join(cwd, ".pi/resources", file), "");
}

const names: Names = {
  managers: async () => [{ text: "greeting", about: "keeps a file" }, { text: "pull-request" }],
  keys: async (manager) =>
    manager === "greeting" ? [{ text: "hello" }, { text: "hello you" }, { text: "by" }] : [],
  workflows: async () => [{ text: "check-links" }],
  runs: async () => [{ text: "01a22d84" }],
};
const values = async (line: string, grammar = RESOURCE_MANAGER) =>
  (await complete(grammar, line, { names, cwd }))?.map(({ value }) => value) ?? null;

describe("completion", () => {
  it("offers verbs with what they do", async () => {
    expect(await values("su")).toEqual(["suspend"]);
    const [first] = (await complete(RESOURCE_MANAGER, "l", { names, cwd })) ?? [];
    expect(first).toEqual({
      value: "list",
      label: "list",
      description: "List resources and whether they are ready",
    });
  });

  it("offers managers, then the keys of that manager, quoted where they need it", async () => {
    expect(await values("why ")).toEqual(["why greeting", "why pull-request"]);
    expect(await values("why greeting hel")).toEqual([
      "why greeting hello",
      'why greeting "hello you"',
    ]);
    expect(await values('why greeting "hello y')).toEqual(['why greeting "hello you"']);
    expect(await values("why nobody ")).toBeNull();
  });

  it("offers flags, and after a flag's value what came before it", async () => {
    expect(await values("list --n")).toEqual(["list --not-ready"]);
    expect(await values("events --limit 5 gre")).toEqual(["events --limit 5 greeting"]);
  });

  it("offers folders and spec files where specs are named", async () => {
    expect(await values("diff ")).toEqual(["diff .pi/", "diff greeting", "diff pull-request"]);
    expect(await values("apply .pi/resources/")).toEqual([
      'apply ".pi/resources/a b.resource.json"',
      "apply .pi/resources/b.resource.ts",
    ]);
    expect(await values("apply greeting h")).toEqual([
      "apply greeting hello",
      'apply greeting "hello you"',
    ]);
    expect(await values("apply nowhere/")).toBeNull();
  });

  it("offers workflows and runs", async () => {
    expect(await values("start ch", WORKFLOW)).toEqual(["start check-links"]);
    expect(await values("show ", WORKFLOW)).toEqual(["show 01a22d84"]);
  });

  it("has nothing to say within JSON, or after all operands", async () => {
    expect(await values('apply greeting hello {"te')).toBeNull();
    expect(await values("why greeting hello ")).toBeNull();
  });
});
