import { chmodSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { buildCommandLine, makeWorkspace, writeCounter, writeCounters } from "./command-line.ts";

beforeAll(buildCommandLine);

const GOOD = { resourceManager: "counter", key: "x", spec: { value: 1 } };
const isRoot = process.getuid?.() === 0;

describe("bad input", () => {
  const workspace = makeWorkspace();
  const { ok, run, write, project } = workspace;
  const bad = (name: string) => path.join(project, "bad", name);
  let stored = "";
  beforeAll(async () => {
    writeCounters(workspace, ["kept"]);
    await ok(["apply", "-f", "specs", "--wait"]);
    stored = await ok(["get", "-o", "json"]);
  });

  const cases: { what: string; make: () => void; says: RegExp[] }[] = [
    {
      what: "a syntax error in JSON",
      make: () => write("bad/x.resource.json", '{\n  "key": "x",,\n}'),
      says: [/bad\/x\.resource\.json:2:\d+: /, /^> 2 \| /m],
    },
    {
      what: "a syntax error in TypeScript",
      make: () => write("bad/x.resource.ts", "export default {\n  key: ;\n};"),
      says: [/bad\/x\.resource\.ts:2:\d+: /],
    },
    {
      what: "a spec that its schema refuses, at each place at once",
      make: () =>
        write(
          "bad/x.resource.json",
          JSON.stringify({ ...GOOD, spec: { value: "1", extra: 2 } }, null, 2),
        ),
      says: [/x\.resource\.json:5:\d+: spec\.value: .*number/, /x\.resource\.json:6:\d+: .*extra/],
    },
    {
      what: "an unknown manager",
      make: () =>
        write("bad/x.resource.json", JSON.stringify({ ...GOOD, resourceManager: "countre" })),
      says: [/x\.resource\.json:1:\d+: resourceManager: .*countre/],
    },
    {
      what: "two places for one resource, naming both",
      make: () => {
        write("bad/one.resource.json", JSON.stringify(GOOD));
        write("bad/two.resource.json", JSON.stringify(GOOD));
      },
      says: [/bad\/one\.resource\.json:1/, /bad\/two\.resource\.json:1/],
    },
    {
      what: "a file that is too large",
      make: () =>
        write("bad/x.resource.json", JSON.stringify({ ...GOOD, spec: "x".repeat(4 << 20) })),
      says: [/x\.resource\.json:1:1: .*4/],
    },
    {
      what: "a spec that is too large",
      make: () =>
        write(
          "bad/x.resource.json",
          JSON.stringify({ ...GOOD, spec: { value: 1, secret: "x".repeat(1 << 20) } }),
        ),
      says: [/x\.resource\.json:1:\d+: spec: .*/],
    },
    {
      what: "a TypeScript spec that throws",
      make: () =>
        write("bad/x.resource.ts", 'const a: string = "x";\nthrow new Error("no luck with " + a);'),
      says: [/x\.resource\.ts:2:\d+: .*no luck with x/],
    },
    {
      what: "a TypeScript spec that writes to standard output",
      make: () => write("bad/x.resource.ts", 'console.log("{");\nexport default [];'),
      says: [/x\.resource\.ts:1:\d+: wrote "\{" to standard output/],
    },
    {
      what: "a key with control characters",
      make: () => write("bad/x.resource.json", JSON.stringify({ ...GOOD, key: "x\u001b[2J" })),
      says: [/x\.resource\.json:1:\d+: key: must not hold control characters/],
    },
    {
      what: "a link that leads in circles",
      make: () => symlinkSync("loop.resource.json", bad("loop.resource.json")),
      says: [/bad\/loop\.resource\.json:1:1: the symbolic link leads back to itself/],
    },
  ];
  it.each(cases)("$what is named with its place, and changes nothing", async ({ make, says }) => {
    rmSync(path.join(project, "bad"), { recursive: true, force: true });
    mkdirSync(path.join(project, "bad"));
    make();
    const diffed = await run(["diff", "-R", "-f", "bad"]);
    expect(diffed.code).toBe(2);
    const { code, stdout, stderr } = await run(["apply", "-R", "-f", "bad"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    for (const pattern of says) {
      expect(stderr).toMatch(pattern);
      expect(diffed.stdout).toMatch(pattern);
    }
    expect(stderr).toMatch(/^error\[INVALID_SPECS\]: /m);
    expect(stderr).not.toMatch(/^\s+at /m);
    expect(await ok(["get", "-o", "json"])).toBe(stored);
  });

  it.skipIf(isRoot)("a file that can't be read is named", async () => {
    rmSync(path.join(project, "bad"), { recursive: true, force: true });
    write("bad/x.resource.json", JSON.stringify(GOOD));
    chmodSync(bad("x.resource.json"), 0o000);
    const { code, stderr } = await run(["apply", "-f", "bad"]);
    expect(code).toBe(2);
    expect(stderr).toContain("permission denied");
  });

  it("an endless loop in a TypeScript spec is stopped, and the file is named", async () => {
    rmSync(path.join(project, "bad"), { recursive: true, force: true });
    write("bad/x.resource.ts", "for (;;);\nexport default [];");
    const { code, stderr } = await run(["apply", "-f", "bad"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/bad\/x\.resource\.ts:\d+:\d+: /);
    expect(await ok(["get", "-o", "json"])).toBe(stored);
  });

  it("a definition that is broken is named, and so are the specs that need it", async () => {
    rmSync(path.join(project, "bad"), { recursive: true, force: true });
    write(".pi/resource-managers/broken.resource-manager.ts", "export default 1 +;");
    write("bad/x.resource.json", JSON.stringify({ ...GOOD, resourceManager: "broken" }));
    const { code, stderr } = await run(["apply", "-f", "bad"]);
    rmSync(path.join(project, ".pi/resource-managers/broken.resource-manager.ts"));
    expect(code).toBe(2);
    expect(stderr).toContain("broken.resource-manager.ts:1:");
  });
});

describe("input that only looks bad", () => {
  const workspace = makeWorkspace();
  const { ok, write } = workspace;
  beforeAll(() => writeCounters(workspace, []));

  it("a byte order mark, CRLF, comments and trailing commas are no difference", async () => {
    writeCounter(workspace, "a", 1);
    await ok(["apply", "-f", "specs", "--wait"]);
    const text = workspace.read("specs/a.resource.json").replace("{", "{ // a counter");
    write("specs/a.resource.json", `\uFEFF${text.replaceAll("\n", "\r\n")}\r\n`);
    expect(await ok(["diff", "-f", "specs"])).toContain("1 unchanged");
  });
});
