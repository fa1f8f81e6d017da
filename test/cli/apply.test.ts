import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { buildCommandLine, makeWorkspace, writeCounter, writeCounters } from "./command-line.ts";

beforeAll(buildCommandLine);

type Receipt = {
  actions: { kind: string; key: string; outcome: string; generation?: number }[];
  error?: { code: string };
};

describe("apply", () => {
  const workspace = makeWorkspace();
  const { ok, json, run, project } = workspace;
  beforeAll(() => writeCounters(workspace, ["a", "b"]));

  it("--dry-run shows the plan, applies nothing and starts no server", async () => {
    expect(await ok(["apply", "-f", "specs", "--dry-run"])).toContain("2 to create");
    await ok(["apply", "-f", "specs", "--dry-run", "--exit-code"], { code: 1 });
    expect((await run(["server", "status"])).code).toBe(5);
  });

  it("--plan applies exactly the plan that diff showed, and refuses another", async () => {
    const plan = await json<{ id: string }>(["diff", "-f", "specs"], { code: 1 });
    writeCounter(workspace, "b", 2);
    const stale = await run(["apply", "-f", "specs", "--plan", plan.id]);
    expect(stale.code).toBe(2);
    expect(stale.stderr).toContain("error[PLAN_STALE]");
    expect(await ok(["get"])).toBe("");
    const text = await ok(["diff", "-f", "specs"], { code: 1 });
    const shown = /\(plan (\w+)\)/.exec(text)?.[1] ?? "";
    expect(await ok(["apply", "-f", "specs", "--plan", shown, "--wait"])).toContain("2 created");
  });

  it("--exit-code tells changed from unchanged", async () => {
    expect(await run(["apply", "-f", "specs", "--exit-code"])).toMatchObject({ code: 0 });
    writeCounter(workspace, "a", 5);
    expect(await run(["apply", "-f", "specs", "--exit-code"])).toMatchObject({ code: 1 });
  });

  it("prints one JSON document", async () => {
    writeCounter(workspace, "a", 6);
    const receipt = await json<Receipt>(["apply", "-f", "specs"]);
    expect(receipt.actions).toMatchObject([
      { kind: "update", key: "a", outcome: "done", generation: 3 },
      { kind: "unchanged", key: "b", outcome: "skipped" },
    ]);
  });

  it("--on-error continue applies the rest, names what failed and exits with 2", async () => {
    writeCounter(workspace, "c", 1);
    workspace.write(
      "specs/d.resource.json",
      '{ "resourceManager": "counter", "key": "d", "spec": {} }',
    );
    const stopped = await run(["apply", "-f", "specs"]);
    expect(stopped).toMatchObject({ code: 2, stdout: "" });
    expect(stopped.stderr).toMatch(/specs\/d\.resource\.json:1:\d+: spec/);
    expect((await run(["get", "counter", "c"])).code).toBe(2);

    const { code, stdout, stderr } = await run(["apply", "-f", "specs", "--on-error", "continue"]);
    expect(code).toBe(2);
    expect(stdout).toMatch(/created {2}counter c {2}generation 1/);
    expect(stderr).toContain("error[INVALID_SPECS]");
    await ok(["get", "counter", "c"]);
    rmSync(path.join(project, "specs/d.resource.json"));
  });

  it("A-6: a large prune is held with exit code 3, and confirming its hash prunes just that", async () => {
    for (const key of ["e", "f", "g"]) writeCounter(workspace, key, 1);
    await ok(["apply", "-f", "specs"]);
    for (const key of ["c", "e", "f", "g"])
      rmSync(path.join(project, `specs/${key}.resource.json`));
    const held = await run(["apply", "-f", "specs", "--prune"]);
    expect(held.code).toBe(3);
    expect(held.stderr).toContain("error[PRUNE_HELD]");
    expect((await ok(["get", "-o", "name"])).trim().split("\n")).toHaveLength(6);
    const hash = /--confirm-prune (\w+)/.exec(held.stderr)?.[1] ?? "";
    const receipt = await json<Receipt>([
      "apply",
      "-f",
      "specs",
      "--prune",
      "--confirm-prune",
      hash,
    ]);
    expect(receipt.actions.filter(({ kind }) => kind === "prune")).toHaveLength(4);
    expect(await ok(["get", "-o", "name"])).toBe("counter/a\ncounter/b\n");
  });

  it("A-4: prunes only below the paths given, and only what the same set applied", async () => {
    writeCounter(workspace, "other", 1, "elsewhere");
    writeCounter(workspace, "mine", 1);
    await ok(["apply", "-f", "elsewhere"]);
    await ok(["apply", "-f", "specs/mine.resource.json", "--set", "second"]);
    rmSync(path.join(project, "elsewhere"), { recursive: true });
    rmSync(path.join(project, "specs/mine.resource.json"));
    await ok(["apply", "-f", "specs", "--prune"]);
    expect(await ok(["get", "-o", "name"])).toBe(
      "counter/a\ncounter/b\ncounter/mine\ncounter/other\n",
    );
  });

  it("A-5: a folder that is gone, or empty, prunes nothing", async () => {
    const gone = await run(["apply", "-f", "elsewhere", "--prune"]);
    expect(gone.code).toBe(2);
    expect(gone.stderr).toContain("no such file or folder");
    workspace.write("elsewhere/readme.txt", "empty");
    const empty = await run(["apply", "-f", "elsewhere", "--prune"]);
    expect(empty).toMatchObject({ code: 3 });
    expect(empty.stderr).toContain("error[PRUNE_BLOCKED]");
    await ok(["get", "counter", "other"]);
    await ok(["apply", "-f", "elsewhere", "--prune", "--allow-empty"]);
    expect((await run(["get", "counter", "other"])).code).toBe(2);
  });

  it("another owner's resource is a conflict, until --force takes it over", async () => {
    writeCounter(workspace, "mine", 9);
    const conflict = await run(["apply", "-f", "specs"]);
    expect(conflict.code).toBe(2);
    expect(conflict.stderr).toContain("error[CONFLICT]");
    expect(conflict.stderr).toContain("apply set second");
    await ok(["apply", "-f", "specs", "--force"]);
    expect(await ok(["get", "counter", "mine", "-o", "wide"])).toContain("apply set default");
  });

  it("--wait exits with 4 where the time is up, after it has said what was applied", async () => {
    writeCounter(workspace, "a", 7);
    const args = ["apply", "-f", "specs", "--wait=condition=Never", "--timeout", "300ms"];
    const { code, stdout, stderr } = await run(args);
    expect(code).toBe(4);
    expect(stdout).toContain("updated  counter a");
    expect(stderr).toContain("error[WAIT_TIMEOUT]");
    expect(stderr).toContain("has no condition Never yet");
  });
});

describe("a spec of a person's own", () => {
  const workspace = makeWorkspace();
  const { ok, json, run } = workspace;
  beforeAll(() => writeCounters(workspace, []));

  it("is applied from the command line, and its origin is the person and the command", async () => {
    await ok(["apply", "counter", "mine", '{"value": 3, "secret": "hunter22"}', "--wait"]);
    const stored = await json<{ origin: object; owner: { kind: string } }>([
      "get",
      "counter",
      "mine",
    ]);
    expect(stored.owner.kind).toBe("person");
    expect(stored.origin).toMatchObject({ command: "apply counter mine" });
    for (const verb of ["describe", "history", "why", "get"]) {
      const text = await ok([verb, "counter", "mine", "-o", "json"]);
      expect(text).not.toContain("hunter22");
    }
    expect(await ok(["describe", "counter", "mine", "--show-secrets"])).toContain("hunter22");
  });

  it("is read from a file after @", async () => {
    workspace.write("spec.json", '{"value": 4}');
    expect(await ok(["apply", "counter", "mine", "@spec.json"])).toContain("updated  counter mine");
  });

  it("is refused where it is no JSON, not valid, or of no known manager", async () => {
    const cases: [string[], string][] = [
      [["counter", "x", "{value: 1"], "error[USAGE]: the spec is no JSON"],
      [["counter", "x", "@nowhere.json"], "@nowhere.json: the file can't be read"],
      [["counter", "x", '{"value": "1"}'], "<command line>:"],
      [["nobody", "x", "{}"], "nobody"],
      [["counter", "x"], "SPEC is missing"],
      [["counter", "x", '{"value": 1}', "--prune"], "--prune goes with -f"],
    ];
    for (const [args, message] of cases) {
      const { code, stdout, stderr } = await run(["apply", ...args]);
      expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: "" });
      expect(stderr).toContain(message);
    }
    expect(await ok(["get", "-o", "name"])).toBe("counter/mine\n");
  });
});

describe("A-13: in a git repository", () => {
  const workspace = makeWorkspace();
  const { ok, json, project } = workspace;
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", ...args], {
      cwd: project,
      encoding: "utf8",
      env: { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null" },
    }).trim();

  const specWithImport = `
    import { defineResource } from "@osolmaz/pi-workflows/resource-managers";
    import { value } from "./value.ts";
    export default defineResource("counter", { key: "t", spec: { value } });
  `;

  it("each generation names file, line, commit and whether the file was edited", async () => {
    writeCounters(workspace, ["a", "b"]);
    git("init", "-q", "-b", "main");
    git("add", ".");
    git("commit", "-q", "-m", "Two counters");
    const commit = git("rev-parse", "HEAD");
    writeCounter(workspace, "b", 2);
    await ok(["apply", "-f", "specs"]);
    const origin = async (key: string) =>
      (await json<{ origin: object }>(["get", "counter", key])).origin;
    expect(await origin("a")).toMatchObject({
      file: "specs/a.resource.json",
      line: 1,
      commit,
      dirty: false,
      command: "apply -f specs",
      owner: { kind: "apply", name: "default" },
    });
    expect(await origin("b")).toMatchObject({ commit, dirty: true });
    workspace.write("specs/t.resource.ts", specWithImport);
    workspace.write("specs/value.ts", "export const value = 1;");
    git("add", ".");
    git("commit", "-q", "-m", "One more");
    await ok(["apply", "-f", "specs"]);
    expect(await origin("t")).toMatchObject({ dirty: false });
    workspace.write("specs/value.ts", "export const value = 2;");
    await ok(["apply", "-f", "specs"]);
    expect(await origin("t")).toMatchObject({ dirty: true });
    const why = await ok(["why", "counter", "b"]);
    expect(why).toContain(`specs/b.resource.json:1 @ ${commit.slice(0, 7)} (edited), committed`);
    expect(why).toContain("by Ada: Two counters");
  });
});
