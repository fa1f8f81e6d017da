import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { planJsonSchema } from "../../src/diff/schema.ts";
import { buildCommandLine, makeWorkspace, writeCounter, writeCounters } from "./command-line.ts";

beforeAll(buildCommandLine);

describe("diff before anything was applied", () => {
  const workspace = makeWorkspace();
  const { ok, json, run } = workspace;
  beforeAll(() => writeCounters(workspace, ["a", "b"]));

  it("shows a plan, exits with 1, starts no server and makes no database", async () => {
    expect(await ok(["diff", "-f", "specs"], { code: 1 })).toContain("2 to create");
    expect(existsSync(workspace.home)).toBe(false);
    expect((await run(["server", "status"])).code).toBe(5);
  });

  it("exits with 0 where --no-exit-code says so", async () => {
    expect(await ok(["diff", "-f", "specs", "--no-exit-code"])).toContain("2 to create");
  });

  it("prints every format, and as JSON what the schema says", async () => {
    const plan = await json(["diff", "-f", "specs"], { code: 1 });
    expect(planJsonSchema.parse(plan)).toEqual(plan);
    for (const format of ["fields", "unified", "markdown", "table"]) {
      expect(await ok(["diff", "-f", "specs", "-o", format], { code: 1 })).toContain("counter a");
    }
  });

  it("takes files, folders, globs and standard input alike", async () => {
    const input = workspace.read("specs/a.resource.json");
    const ways = [
      ["-f", "specs/a.resource.json"],
      ["-f", "specs/a*.json"],
      ["-f", "-"],
      ["-f", path.join(workspace.project, "specs", "a.resource.json")],
      ["-R", "-f", "."],
    ];
    const counts = [];
    for (const way of ways) {
      const plan = await json<{ counts: { create: number } }>(["diff", ...way], { code: 1, input });
      counts.push(plan.counts.create);
    }
    expect(counts).toEqual([1, 1, 1, 1, 2]);
  });

  it("-C runs elsewhere", async () => {
    const args = ["-C", workspace.project, "diff", "-f", "specs"];
    expect(await ok(args, { code: 1, cwd: path.dirname(workspace.project) })).toContain(
      "2 to create",
    );
  });
});

describe("diff beside a store", () => {
  const workspace = makeWorkspace();
  const { ok, json, run } = workspace;
  beforeAll(async () => {
    writeCounters(workspace, ["a", "b", "c"]);
    await ok(["apply", "-f", "specs", "--wait"]);
  });

  it("leaves the database byte-identical with no server running", async () => {
    await ok(["server", "stop"]);
    const before = fingerprint(workspace.home);
    expect(Object.keys(before)).toEqual(["state.sqlite"]);
    writeCounter(workspace, "a", 2);
    await ok(["diff", "-f", "specs"], { code: 1 });
    await ok(["diff", "-f", "specs", "--prune", "-o", "json"], { code: 1 });
    await ok(["apply", "-f", "specs", "--dry-run"]);
    await ok(["get"]);
    await ok(["why", "counter", "a"]);
    expect(fingerprint(workspace.home)).toEqual(before);
  });

  it("exits with 0 where nothing differs, also for another order of keys and white space", async () => {
    workspace.write(
      "specs/a.resource.json",
      `{"spec":{"value":1.0},\r\n // kept\r\n"key":"a","resourceManager":"counter"}`,
    );
    expect(await ok(["diff", "-f", "specs"])).toContain("3 unchanged");
  });

  it("exits with 2 for files that are not valid, and shows where", async () => {
    workspace.write(
      "bad/x.resource.json",
      '{ "resourceManager": "counter",\n "key": "x", "spec": { "value": "1" } }',
    );
    const { code, stdout } = await run(["diff", "-f", "bad"]);
    expect(code).toBe(2);
    expect(stdout).toMatch(/bad\/x\.resource\.json:2:\d+: spec\.value: /);
  });

  it("exits with 3 where a guard would hold the prune", async () => {
    for (const key of ["d", "e", "f"]) writeCounter(workspace, key, 1);
    await ok(["apply", "-f", "specs"]);
    for (const key of ["b", "c", "d", "e"])
      rmSync(path.join(workspace.project, `specs/${key}.resource.json`));
    const text = await ok(["diff", "-f", "specs", "--prune"], { code: 3 });
    expect(text).toContain("Prune held: 4 resources would go.");
    const args = ["diff", "-f", "specs", "--prune", "--max-deletes"];
    await ok([...args, "4"], { code: 1 });
    await ok([...args, "3"], { code: 3 });
    await ok([...args, "90%"], { code: 1 });
    await ok([...args, "50%"], { code: 3 });
  });

  it("says what prune would delete, and why", async () => {
    const plan = await json<{ actions: { kind: string; key: string; reasons: string[] }[] }>(
      ["diff", "-f", "specs", "--prune", "--max-deletes", "9"],
      { code: 1 },
    );
    const pruned = plan.actions.filter(({ kind }) => kind === "prune");
    expect(pruned.map(({ key }) => key).sort()).toEqual(["b", "c", "d", "e"]);
    expect(pruned[0]?.reasons.join()).toContain("is gone");
  });

  it("masks secrets, unless it is told to show them", async () => {
    workspace.write(
      "secret/s.resource.json",
      JSON.stringify({
        resourceManager: "counter",
        key: "s",
        spec: { value: 1, secret: "hunter22" },
      }),
    );
    for (const format of ["table", "fields", "unified", "json", "markdown"]) {
      const text = await ok(["diff", "-f", "secret", "-o", format], { code: 1 });
      expect(text).not.toContain("hunter22");
    }
    const shown = await ok(["diff", "-f", "secret", "-o", "unified", "--show-secrets"], {
      code: 1,
    });
    expect(shown).toContain("hunter22");
  });
});

/** Size, time and content of all that belongs to the database. */
function fingerprint(home: string): object {
  const files = readdirSync(home).filter((file) => file === "state.sqlite");
  return Object.fromEntries(
    files.map((file) => {
      const place = path.join(home, file);
      const hash = createHash("sha256").update(readFileSync(place)).digest("hex");
      return [file, { hash, modified: statSync(place).mtimeMs }];
    }),
  );
}
