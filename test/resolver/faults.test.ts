import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import type { Duplex, Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { installationUrl } from "../../src/model/installation.ts";
import { LIMITS } from "../../src/model/limits.ts";
import { encodeFrame } from "../../src/runner/frames.ts";
import { NOTE_DEFINITION, NOTE_FILE, tempProject } from "../sources/temp-project.ts";
import { keys, lines, loadSpecs } from "./loading.ts";

const json = (key: string) =>
  JSON.stringify({ resourceManager: "note", key, spec: { title: "t" } });

/** A project with a good JSON spec beside a TypeScript one. */
function project(text: string) {
  return tempProject({
    [NOTE_FILE]: NOTE_DEFINITION,
    "good.resource.json": json("good"),
    "bad.resource.ts": text,
    "fine.resource.ts":
      'export default { resourceManager: "note", key: "fine", spec: { title: "t" } };',
  });
}
const FILES = ["good.resource.json", "bad.resource.ts", "fine.resource.ts"];

describe("a spec file that its process does not survive is named, and the rest is loaded", () => {
  it.each([
    [
      "an endless loop",
      "while (true) {}\nexport default [];",
      "did not finish within 1 s; look for an endless loop",
    ],
    [
      "an endless loop after an await",
      "await null;\nfor (;;) {}\nexport default [];",
      "did not finish within 1 s; look for an endless loop",
    ],
    [
      "SIGKILL",
      'process.kill(process.pid, "SIGKILL");\nexport default [];',
      "ended the process that evaluates it (SIGKILL)",
    ],
    [
      "SIGSTOP",
      'process.kill(process.pid, "SIGSTOP");\nexport default [];',
      "did not finish within 1 s; look for an endless loop",
    ],
    [
      "too much memory",
      "const a: number[][] = [];\nwhile (true) a.push(Array.from({ length: 1e5 }, Math.random));\nexport default a;",
      "ran out of memory: more than 128 MiB",
    ],
    [
      "output by file descriptor",
      'import { writeSync } from "node:fs";\nwriteSync(1, "raw");\nexport default [];',
      'wrote "raw" to the output of its process; spec files only return data',
    ],
  ])("%s", async (_name, text, message) => {
    // The collector struggles for seconds before it gives up.
    const evaluateMs = message.includes("memory") ? 30_000 : 1_000;
    const limits = { evaluateMs, resolverHeapMiB: 128 };
    const found = await loadSpecs(project(text), FILES, {}, limits);
    expect(lines(found)).toEqual([`bad.resource.ts:1:1: ${message}`]);
    expect(keys(found)).toEqual(["note fine", "note good"]);
  });

  // The descriptors of marks, reports and results: project code runs in the process that has them.
  it.each([
    [1, '"\\0\\0{ garbage\\n"'],
    [1, '"\\0[1]\\n"'],
    [1, '"\\0" + "x".repeat(100_000)'],
    [3, '"{ garbage\\n"'],
    [3, 'JSON.stringify({ kind: "managers", items: [{ name: 7 }] }) + "\\n"'],
    [3, 'JSON.stringify({ kind: "problems", items: null }) + "\\n"'],
    [3, '"{}\\n"'],
    [3, '"null\\n"'],
    [4, "Uint8Array.of(255, 255, 255, 255, 255, 255, 255, 255, 1)"],
    [4, "Uint8Array.of(200, 0, 0, 0, 0, 0, 0, 0)"],
    [4, "Uint8Array.of(1)"],
    [4, 'Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 0, 0, 0]), Buffer.from("{}")])'],
    [4, 'Buffer.concat([Buffer.from([4, 0, 0, 0, 0, 0, 0, 0]), Buffer.from("[{}]")])'],
  ])("what it writes to descriptor %d is refused: %s", async (fd, bytes) => {
    const made = project(
      `import { writeSync } from "node:fs";\nwriteSync(${fd}, ${bytes});\nexport default [];`,
    );
    const found = await loadSpecs(made, FILES);
    expect(lines(found).join("\n")).toMatch(
      /wrote .* (?:of|to) .*its process; spec files only return data/,
    );
    expect(keys(found)).not.toContain("note bad");
  });

  it("what it started dies with it", async () => {
    const made = project(`import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
const { pid } = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
writeFileSync("pid", String(pid));
while (true) {}
export default [];`);
    const found = await loadSpecs(made, FILES, {}, { evaluateMs: 1_000 });
    expect(lines(found)).toHaveLength(1);
    const pid = Number(readFileSync(made.path("pid"), "utf8"));
    expect(isRunning(pid)).toBe(false);
  });

  it("one that is stopped and goes on in time is loaded whole", async () => {
    const made = project(`import { spawn } from "node:child_process";
spawn("sh", ["-c", "sleep 0.2; kill -CONT " + process.pid], { stdio: "ignore", detached: true });
process.kill(process.pid, "SIGSTOP");
export default { resourceManager: "note", key: "bad", spec: { title: "t" } };`);
    const found = await loadSpecs(made, FILES);
    expect(lines(found)).toEqual([]);
    expect(keys(found)).toEqual(["note bad", "note fine", "note good"]);
  });

  it("T-4: the limits of a load are those of a clock that nobody sets", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      const made = project("while (true) {}\nexport default [];");
      const loading = loadSpecs(made, FILES, {}, { evaluateMs: 500 });
      vi.setSystemTime(Date.now() + 3_600_000);
      const found = await loading;
      expect(lines(found)).toEqual([
        "bad.resource.ts:1:1: did not finish within 0.5 s; look for an endless loop",
      ]);
      expect(keys(found)).toEqual(["note fine", "note good"]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("among hundreds as well", async () => {
    const made = project("while (true) {}\nexport default [];");
    const many = Array.from({ length: 600 }, (_, index) => `many/${index}.resource.json`);
    for (const file of many) made.write(file, json(file));
    const found = await loadSpecs(made, [...many, ...FILES], {}, { evaluateMs: 1_000 });
    expect(lines(found)).toEqual([
      "bad.resource.ts:1:1: did not finish within 1 s; look for an endless loop",
    ]);
    expect(found.desired).toHaveLength(602);
  });

  it("several are all named, up to a few", async () => {
    const loop = "while (true) {}\nexport default [];";
    const made = project(loop);
    made.write("worse.resource.ts", loop);
    const found = await loadSpecs(made, [...FILES, "worse.resource.ts"], {}, { evaluateMs: 500 });
    expect(lines(found).map((line) => line.split(":")[0])).toEqual([
      "bad.resource.ts",
      "worse.resource.ts",
    ]);
    expect(keys(found)).toEqual(["note fine", "note good"]);
  });

  it("too many make the load give up, with nothing loaded", async () => {
    const made = tempProject({ [NOTE_FILE]: NOTE_DEFINITION, "good.resource.json": json("good") });
    const files = [1, 2, 3, 4, 5].map((number) => `${number}.resource.ts`);
    for (const file of files)
      made.write(file, 'process.kill(process.pid, "SIGKILL");\nexport default [];');
    const found = await loadSpecs(made, ["good.resource.json", ...files]);
    expect(found.desired).toEqual([]);
    expect(lines(found)).toContain(
      ".:1:1: nothing else was loaded, because loading had to be given up",
    );
    expect(lines(found)).toHaveLength(5);
  });

  it("the limit of the whole load ends it as well", async () => {
    const made = project("while (true) {}\nexport default [];");
    const found = await loadSpecs(made, FILES, {}, { resolveMs: 1_500, evaluateMs: 60_000 });
    expect(lines(found)).toEqual([
      ".:1:1: nothing else was loaded, because loading had to be given up",
      "bad.resource.ts:1:1: loading took longer than 1.5 s and was stopped",
    ]);
  });

  it("a definition is left out like a spec file", async () => {
    const made = project("export default [];");
    made.write(NOTE_FILE, "while (true) {}\nexport default 1;");
    const found = await loadSpecs(made, ["good.resource.json"], {}, { evaluateMs: 500 });
    expect(lines(found)).toEqual([
      `${NOTE_FILE}:1:1: did not finish within 0.5 s; look for an endless loop`,
      `good.resource.json:1:20: resourceManager: the definition of "note" can't be used: see ${NOTE_FILE}`,
    ]);
  });

  it("a schema or initialStatus that never ends is named by the spec it was given", async () => {
    const made = project("export default [];");
    made.write(
      NOTE_FILE,
      NOTE_DEFINITION.replace(
        "({ phase:",
        '{ while (spec.title === "t"); return ({ phase:',
      ).replace("title }),", "title }); },"),
    );
    made.write(
      "other.resource.json",
      JSON.stringify({ resourceManager: "note", key: "o", spec: { title: "o" } }),
    );
    const found = await loadSpecs(
      made,
      ["good.resource.json", "other.resource.json"],
      {},
      { evaluateMs: 500 },
    );
    expect(lines(found)).toEqual([
      "good.resource.json:1:1: did not finish within 0.5 s; look for an endless loop",
    ]);
    expect(keys(found)).toEqual(["note o"]);
  });
});

describe("the resolver", () => {
  it("stops when asked to", async () => {
    const made = project("while (true) {}\nexport default [];");
    const stop = AbortSignal.timeout(300);
    await expect(loadSpecs(made, FILES, { signal: stop })).rejects.toMatchObject({
      code: "RESOLVE_FAILED",
    });
    await expect(loadSpecs(made, FILES, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: "RESOLVE_FAILED",
    });
  });

  it("leaves no temporary folder behind", async () => {
    const temporary = tempProject({ ".keep": "" });
    const before = process.env["TMPDIR"];
    const made = project("while (true) {}\nexport default [];");
    process.env["TMPDIR"] = temporary.root;
    try {
      await loadSpecs(made, FILES, {}, { evaluateMs: 300 });
      expect(readdirSync(temporary.root)).toEqual([".keep"]);
    } finally {
      if (before === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = before;
    }
  });

  it("gives project code no credentials of its caller", async () => {
    process.env["GITHUB_TOKEN"] = "not-for-specs";
    try {
      const made = project(
        "if (process.env.GITHUB_TOKEN) throw new Error('leak');\nif (!process.env.PATH) throw new Error('no PATH');\nexport default [];",
      );
      expect(lines(await loadSpecs(made, FILES))).toEqual([]);
    } finally {
      delete process.env["GITHUB_TOKEN"];
    }
  });

  it("P-1: its child ends when its parent is gone", async () => {
    const made = project("await new Promise(() => {});\nexport default [];");
    const scratch = tempProject({ ".keep": "" });
    const program = fileURLToPath(installationUrl("dist/runner/resolver-child.js"));
    const child = spawn(process.execPath, [program], {
      stdio: ["ignore", "pipe", "inherit", "pipe", "ignore"],
      detached: true,
    });
    const ended = once(child, "exit");
    const request = {
      project: made.root,
      files: [made.path("bad.resource.ts")],
      inline: [],
      managers: [],
      skip: [],
    };
    const channel = child.stdio[3] as Duplex;
    const more = { globalFolder: made.path("none"), scratch: scratch.root };
    channel.write(encodeFrame({ ...request, ...more, evaluateMs: 60_000, exactMarks: true }));
    // The mark says that the file is being evaluated.
    for await (const chunk of child.stdout as Readable)
      if (String(chunk).includes("bad.resource.ts")) break;
    channel.destroy();
    expect(await ended).toEqual([null, "SIGKILL"]);
  });

  it("returns what 2,000 files hold, in chunks", async () => {
    const made = tempProject({ [NOTE_FILE]: NOTE_DEFINITION });
    const files = Array.from({ length: 2_000 }, (_, index) => `${index}.resource.json`);
    for (const file of files) made.write(file, json(file));
    const found = await loadSpecs(made, files);
    expect(found.problems).toEqual([]);
    expect(new Set(keys(found)).size).toBe(2_000);
    expect(found.files).toHaveLength(2_000);
  });

  it("carries specs at their limit", async () => {
    const made = tempProject({
      ".pi/resource-managers/any.resource-manager.mjs": `
import { defineResourceManager } from "@osolmaz/pi-workflows/resource-managers";
export default defineResourceManager({ name: "any", initialStatus: () => ({}), reconcile: (ctx) => ctx.settled() });`,
    });
    const spec = (size: number) => ({ text: "x".repeat(size - '{"text":""}'.length) });
    const manifest = (key: string, size: number) => ({
      resourceManager: "any",
      key,
      spec: spec(size),
    });
    made.write(
      "a.resource.json",
      JSON.stringify([manifest("at", LIMITS.spec), manifest("past", LIMITS.spec + 1)], null, 1),
    );
    const found = await loadSpecs(made, ["a.resource.json"]);
    expect(keys(found)).toEqual(["any at"]);
    expect(lines(found)).toEqual([
      `a.resource.json:12:11: spec: has ${LIMITS.spec + 1} bytes; at most ${LIMITS.spec} are allowed`,
    ]);
  });
});

function isRunning(pid: number): boolean {
  const state = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], {
    encoding: "utf8",
  }).stdout.trim();
  return state !== "" && !state.startsWith("Z");
}
