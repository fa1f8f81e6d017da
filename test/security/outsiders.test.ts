import { spawnSync } from "node:child_process";
import { createServer } from "node:http";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { buildCommandLine, makeWorkspace, writeCounters } from "../cli/command-line.ts";

beforeAll(buildCommandLine);

const isRoot = process.getuid?.() === 0;
/** The user and group "nobody" of Linux and the BSDs; any but ours would do. */
const NOBODY = 65_534;

const PROBE = `
const fs = require("node:fs"), net = require("node:net"), path = require("node:path");
const home = process.argv[1];
const said = {};
const attempt = (name, work) => { try { work(); said[name] = "done"; } catch (error) { said[name] = error.code; } };
attempt("list", () => fs.readdirSync(home));
for (const file of ["state.sqlite", "state.sqlite-wal", "server.json", "logs/server.log"])
  attempt(file, () => fs.readFileSync(path.join(home, file)));
attempt("write", () => fs.writeFileSync(path.join(home, "bundles", "x.mjs"), ""));
attempt("self", () => fs.readFileSync(path.join(path.dirname(home), "open"), "utf8"));
const socket = net.connect(path.join(home, "server.sock"));
const end = (how) => { said.socket = how; console.log(JSON.stringify(said)); process.exit(0); };
socket.on("connect", () => end("done"));
socket.on("error", (error) => end(error.code));
`;

describe("another user of this machine", () => {
  const workspace = makeWorkspace();
  const { ok, home, project } = workspace;
  beforeAll(async () => {
    writeCounters(workspace, ["a"]);
    await ok(["apply", "-f", "specs", "--wait"]);
    // All above the state folder is open, so that it alone keeps others out.
    for (const folder of [path.dirname(home), project]) chmodSync(folder, 0o755);
    writeFileSync(path.join(path.dirname(home), "open"), "", { mode: 0o644 });
  });

  it(`can neither use the socket nor read or change a file of the state folder (${isRoot ? "tried as another user" : "by its modes, since this user can't become another"})`, () => {
    expect(statSync(home).mode & 0o777).toBe(0o700);
    expect(statSync(path.join(home, "server.sock")).mode & 0o777).toBe(0o600);
    if (!isRoot) return;
    const { stdout, stderr } = spawnSync(process.execPath, ["-e", PROBE, home], {
      uid: NOBODY,
      gid: NOBODY,
      cwd: "/",
      env: {},
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    const { self, ...rest } = JSON.parse(stdout) as Record<string, string>;
    // Else it would prove nothing.
    expect(self).toBe("done");
    expect(Object.keys(rest)).toHaveLength(7);
    for (const how of Object.values(rest)) expect(how).toMatch(/^(?:EACCES|EPERM)$/);
  });

  it("is kept out again where somebody opened the state folder", async () => {
    await ok(["server", "stop"]);
    chmodSync(home, 0o777);
    await ok(["server", "start"]);
    expect(statSync(home).mode & 0o777).toBe(0o700);
  });

  it("can't have its own folder taken for the state folder", async () => {
    const link = path.join(path.dirname(home), "link");
    symlinkSync(home, link);
    const outcome = await workspace.run(["server", "run"], { env: { PI_WORKFLOWS_HOME: link } });
    expect(outcome).toMatchObject({ code: 2 });
    expect(outcome.stderr).toContain("error[UNSUPPORTED]");
    if (!isRoot) return;
    const theirs = path.join(path.dirname(home), "theirs");
    mkdirSync(theirs, { mode: 0o777 });
    chownSync(theirs, NOBODY, NOBODY);
    const env = { PI_WORKFLOWS_HOME: theirs };
    const refused = await workspace.run(["server", "run"], { env });
    expect(refused.stderr).toContain("belongs to another user");
    expect(readdirSync(theirs)).toEqual([]);
  });

  it.runIf(isRoot)("is told nothing where it listens in the place of a server", async () => {
    const theirs = path.join(path.dirname(home), "listening");
    mkdirSync(theirs, { mode: 0o700 });
    const heard: string[] = [];
    const impostor = createServer((request, response) => {
      heard.push(request.url ?? "");
      response.end("{}");
    });
    const socket = path.join(theirs, "server.sock");
    await new Promise<void>((done) => void impostor.listen(socket, done));
    try {
      const env = { PI_WORKFLOWS_HOME: theirs };
      await workspace.run(["server", "status"], { env });
      expect(heard).not.toEqual([]);
      heard.length = 0;
      chownSync(socket, NOBODY, NOBODY);
      for (const args of [
        ["apply", "-f", "specs"],
        ["server", "status"],
        ["server", "stop"],
      ]) {
        const { code, stderr } = await workspace.run(args, { env });
        expect({ args, code }).toEqual({ args, code: 2 });
        expect(stderr).toContain("belongs to another user");
      }
      expect(heard).toEqual([]);
    } finally {
      impostor.closeAllConnections();
      await new Promise((done) => void impostor.close(done));
    }
  });
});

/** Leaves a file where any code of the project runs. */
const mark = (name: string) =>
  `import { writeFileSync } from "node:fs";\nwriteFileSync(${JSON.stringify(name)}, "");\n`;

describe("a project that nobody enabled or applied", () => {
  const workspace = makeWorkspace();
  const { run, write, project } = workspace;
  beforeAll(async () => {
    const at = (name: string) => path.join(project, name);
    write(".pi/resource-managers/evil.resource-manager.ts", mark(at("ran-manager")));
    write(".pi/workflows/evil.workflow.ts", mark(at("ran-workflow")));
    write(".pi/resources/evil.resource.ts", mark(at("ran-spec")));
    write(".pi/resources/a.resource.json", '{"resourceManager":"evil","key":"a","spec":{}}');
    await workspace.ok(["server", "start"]);
  });

  it.each([
    ["get"],
    ["get", "-o", "json"],
    ["events"],
    ["effects"],
    ["why", "evil", "a"],
    ["describe", "evil", "a"],
    ["history", "evil", "a"],
    ["reconcile", "evil", "a"],
    ["runs"],
    ["sync", "status"],
    ["sync", "now"],
    ["server", "status"],
    ["complete", "--", "get", ""],
  ])("runs nothing: %s %s %s", async (...args) => {
    await run(args);
    expect(readdirSync(project).filter((name) => name.startsWith("ran"))).toEqual([]);
  });

  it("does run where it is applied, so that the marks would tell", async () => {
    await run(["diff", "-f", ".pi/resources"]);
    expect(existsSync(path.join(project, "ran-manager"))).toBe(true);
  });
});

describe("links and names that lead out of the folders of definitions and specs", () => {
  const workspace = makeWorkspace();
  const { run, ok, write, project } = workspace;
  const outside = () => path.join(path.dirname(project), "outside");
  const ran = () => existsSync(path.join(outside(), "ran"));
  beforeAll(() => {
    mkdirSync(outside());
    const code = mark(path.join(outside(), "ran"));
    for (const name of ["far.resource-manager.ts", "far.workflow.ts", "far.resource.ts"]) {
      writeFileSync(path.join(outside(), name), code);
    }
    write(".pi/resource-managers/.keep", "");
    write(".pi/workflows/.keep", "");
    write(".pi/resources/.keep", "");
  });

  it.each([
    ["a spec file", "resources", "far.resource.ts", ["apply", "-f", ".pi/resources"]],
    ["a folder of specs", "resources", ".", ["apply", "-R", "-f", ".pi/resources"]],
  ])("%s is refused, and its code does not run", async (_what, folder, target, args) => {
    symlinkSync(
      path.join(outside(), target),
      path.join(project, ".pi", folder, "link.resource.ts"),
    );
    const outcome = await run(args);
    expect(outcome.code).toBe(2);
    expect(outcome.stderr).toMatch(/leads out of the project|is not followed/);
    expect(ran()).toBe(false);
    expect(await ok(["get"])).toBe("");
    renameSync(
      path.join(project, ".pi", folder, "link.resource.ts"),
      path.join(outside(), `${target}-used`),
    );
  });

  it.each([
    ["resource-managers", ["schema", "far"]],
    ["workflows", ["run", "start", "far"]],
    ["resources", ["diff", "-f", ".pi/resources"]],
  ])(
    "a folder %s that is itself a link is refused, and no code behind it runs",
    async (folder, args) => {
      const own = path.join(project, ".pi", folder);
      renameSync(own, `${own}-kept`);
      symlinkSync(outside(), own);
      const { code, stdout, stderr } = await run(args);
      rmSync(own);
      renameSync(`${own}-kept`, own);
      expect(code).toBe(2);
      expect(stdout + stderr).toMatch(/^error\[|leads out of the project/m);
      expect(stdout + stderr).not.toContain("writeFileSync");
      expect(ran()).toBe(false);
    },
  );

  it.each([
    ["a manager", "resource-managers", "far.resource-manager.ts", ["schema", "far"]],
    ["a workflow", "workflows", "far.workflow.ts", ["run", "start", "far"]],
  ])("%s is refused, and its code does not run", async (_what, folder, file, args) => {
    symlinkSync(path.join(outside(), file), path.join(project, ".pi", folder, file));
    const outcome = await run(args);
    expect(outcome.code).toBe(2);
    expect(outcome.stderr).toMatch(/^error\[/m);
    // The lines of a file that is not the project's are not shown either.
    expect(outcome.stderr).not.toContain("writeFileSync");
    expect(ran()).toBe(false);
  });

  it.each(["../../etc/passwd", "/etc/passwd", "%2e%2e", "a\u0000b"])(
    "a manager or workflow named %j is none",
    async (name) => {
      const asked = ["schema", "run start", "reconcile"].map((verb) => [...verb.split(" "), name]);
      // No argument of a process can hold a NUL.
      for (const args of name.includes("\u0000") ? [] : asked) {
        const { code, stderr } = await run(args);
        expect(code).toBe(2);
        expect(stderr).toMatch(/error\[/);
      }
      const text = JSON.stringify({ resourceManager: name, key: "a", spec: {} });
      const { code, stderr } = await run(["apply", "-f", "-"], { input: text });
      expect(code).toBe(2);
      expect(stderr).toMatch(/resourceManager: /);
    },
  );
});

describe("a definition that is swapped after it was accepted", () => {
  const workspace = makeWorkspace();
  it("does not run until it is applied again: a pass runs what was checked", async () => {
    const { ok, write, project } = workspace;
    writeCounters(workspace, ["a"]);
    await ok(["apply", "-f", "specs", "--wait"]);
    write(
      ".pi/resource-managers/counter.resource-manager.ts",
      `${mark(path.join(project, "ran-swapped"))}export default {};`,
    );
    await ok(["reconcile", "counter", "a"]);
    await ok(["wait", "counter", "a", "--timeout", "30s"]);
    const { stdout } = await workspace.run(["describe", "counter", "a", "-o", "json"]);
    expect(stdout).toContain('"passes": 2');
    expect(existsSync(path.join(project, "ran-swapped"))).toBe(false);
  });
});
