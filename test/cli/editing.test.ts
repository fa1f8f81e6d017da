import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { beforeAll, describe, expect, it } from "vitest";
import { candidatesFor } from "../../src/cli/completion.ts";
import { GLOBAL_FLAGS } from "../../src/cli/program.ts";
import { VERBS } from "../../src/cli/verbs.ts";
import { buildCommandLine, makeWorkspace, writeCounters } from "./command-line.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");

beforeAll(buildCommandLine);

const PLAIN = `
import { defineResourceManager } from "@osolmaz/pi-workflows/resource-managers";
export default defineResourceManager({
  name: "plain-text",
  initialStatus: () => ({}),
  reconcile: (ctx) => ctx.settled(),
});
`;

describe("types", () => {
  const workspace = makeWorkspace();
  const { ok, run, project } = workspace;
  beforeAll(() => {
    writeCounters(workspace, []);
    workspace.write(".pi/resource-managers/plain-text.resource-manager.ts", PLAIN);
  });

  it("writes declarations by which a spec file is checked without importing the manager", async () => {
    await ok(["types"]);
    await ok(["types", "--check"]);
    workspace.write("good.ts", specFile(["counter", "{ value: 1 }"], ["plain-text", "{ any: 1 }"]));
    workspace.write("bad.ts", specFile(["counter", '{ value: "1" }'], ["counter", "{}"]));
    expect(typeErrors(project, "good.ts")).toBe("");
    expect(typeErrors(project, "bad.ts").match(/^bad\.ts\(\d+,\d+\): error/gm)).toHaveLength(2);
  });

  it("--check says that they are out of date, and writes nothing", async () => {
    workspace.write(".pi/resource-specs.d.ts", "");
    expect(await ok(["types", "--check"], { code: 1 })).toContain("out of date");
    expect(workspace.read(".pi/resource-specs.d.ts")).toBe("");
    expect(await ok(["types", "--out", "-"])).toContain('"counter": Counter.Spec;');
  });

  it("writes nothing where a definition has a problem", async () => {
    workspace.write(".pi/resource-managers/broken.resource-manager.ts", "export default 1 +;");
    const { code, stderr } = await run(["types"]);
    expect(code).toBe(2);
    expect(stderr).toContain("error[INVALID_DEFINITION]");
    expect(stderr).toContain("broken.resource-manager.ts:1:");
    expect(workspace.read(".pi/resource-specs.d.ts")).toBe("");
  });
});

describe("schema", () => {
  const workspace = makeWorkspace();
  const { ok, run } = workspace;

  it("without a definition says where they belong", async () => {
    const { code, stderr } = await run(["schema"]);
    expect(code).toBe(2);
    expect(stderr).toContain("error[UNKNOWN_MANAGER]");
  });

  it("writes schemas that accept good spec files and refuse bad ones", async () => {
    writeCounters(workspace, []);
    workspace.write(".pi/resource-managers/plain-text.resource-manager.ts", PLAIN);
    await ok(["schema"]);
    await ok(["schema", "--check"]);
    const ajv = new Ajv2020({ strict: false });
    for (const name of ["counter.spec", "plain-text.spec", "counter", "plain-text", "resource"]) {
      const schema = JSON.parse(workspace.read(`.pi/schemas/${name}.json`)) as object;
      ajv.addSchema({ ...schema, $id: `file:///${name}.json` });
    }
    const good = { resourceManager: "counter", key: "a", spec: { value: 1 } };
    const bad = { ...good, spec: { value: "1" } };
    for (const name of ["counter", "resource"]) {
      const check = (value: unknown) => ajv.validate(`file:///${name}.json`, value);
      expect([good, [good, good], bad, [good, bad], { key: "a" }].map(check)).toEqual([
        true,
        true,
        false,
        false,
        false,
      ]);
    }
    const other = { resourceManager: "plain-text", key: "a", spec: "anything" };
    expect(ajv.validate("file:///resource.json", other)).toBe(true);
    expect(ajv.validate("file:///counter.json", other)).toBe(false);
  });
});

describe("completion", () => {
  const workspace = makeWorkspace();
  const { ok } = workspace;

  const words = (...typed: string[]) => {
    const found = candidatesFor(VERBS, GLOBAL_FLAGS, typed);
    return found.kind === "words" ? found.words.map(({ word }) => word) : found;
  };

  it("offers what may follow", () => {
    expect(words("")).toContain("apply");
    expect(words("")).not.toContain("__complete");
    expect(words("server", "")).toEqual(["run", "start", "stop", "status", "logs"]);
    expect(words("get", "--")).toContain("--not-ready");
    expect(words("get", "-o", "")).toEqual(["table", "wide", "json", "name"]);
    expect(words("-C", "")).toEqual({ kind: "lookup", what: "directory" });
    expect(words("apply", "-f", "a", "")).toEqual({ kind: "lookup", what: "file" });
    expect(words("apply", "-f", "a", "-R", "--on-error", "")).toEqual(["stop", "continue"]);
    expect(words("get", "--not-ready", "")).toEqual({ kind: "lookup", what: "manager" });
    expect(words("why", "greeting", "")).toEqual({
      kind: "lookup",
      what: "key",
      manager: "greeting",
    });
    expect(words("why", "greeting", "hello", "")).toEqual([]);
  });

  it("looks managers and keys up", async () => {
    writeCounters(workspace, ["alpha", "beta"]);
    await ok(["apply", "-f", "specs"]);
    expect(await ok(["__complete", "--", "get", ""])).toBe("counter\t\n");
    expect(await ok(["__complete", "--", "get", "counter", "a"])).toBe("alpha\t\n");
    expect(await ok(["__complete", "--", "diff", "-f", ""])).toBe(":file\t\n");
  });

  it("prints scripts that the shells take", async () => {
    for (const shell of ["bash", "zsh", "fish"]) {
      const script = await ok(["completion", shell]);
      expect(script).toContain("pi-workflows __complete --");
      const place = shellPath(shell);
      // From a file: fish does not take a script to check from standard input.
      workspace.write(`completion.${shell}`, script);
      const file = path.join(workspace.project, `completion.${shell}`);
      if (place) execFileSync(place, ["-n", file]);
    }
  });

  it("works in bash", async () => {
    const script = await ok(["completion", "bash"]);
    const main = path.join(ROOT, "dist/cli/main.js");
    const answer = execFileSync("bash", ["--norc"], {
      cwd: workspace.project,
      env: {
        ...process.env,
        PI_WORKFLOWS_HOME: workspace.home,
        HOME: path.dirname(workspace.home),
      },
      encoding: "utf8",
      input: `
        pi-workflows() { ${JSON.stringify(process.execPath)} ${JSON.stringify(main)} "$@"; }
        ${script}
        COMP_WORDS=(pi-workflows why counter al); COMP_CWORD=3; _pi_workflows; echo "\${COMPREPLY[@]}"
        COMP_WORDS=(pi-workflows serv); COMP_CWORD=1; _pi_workflows; echo "\${COMPREPLY[@]}"
        COMP_WORDS=(pi-workflows diff -f spe); COMP_CWORD=3; _pi_workflows; echo "\${COMPREPLY[@]}"
      `,
    });
    expect(answer).toBe("alpha\nserver\nspecs\n");
  });
});

function specFile(...declared: [manager: string, spec: string][]): string {
  return [
    'import { defineResource } from "@osolmaz/pi-workflows/resource-managers";',
    ...declared.map(
      ([manager, spec]) =>
        `defineResource(${JSON.stringify(manager)}, { key: "a", spec: ${spec} });`,
    ),
    "",
  ].join("\n");
}

/** What the compiler says of a file beside the declarations; the package is the one tested here. */
function typeErrors(project: string, file: string): string {
  const config = {
    compilerOptions: {
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      target: "ES2023",
      module: "nodenext",
      allowImportingTsExtensions: true,
      typeRoots: [path.join(ROOT, "node_modules/@types")],
      types: ["node"],
      paths: {
        "@osolmaz/pi-workflows/resource-managers": [
          path.join(ROOT, "src/resource-managers/index.ts"),
        ],
      },
    },
    files: [".pi/resource-specs.d.ts", file],
  };
  writeFileSync(path.join(project, "tsconfig.json"), JSON.stringify(config));
  const compiler = path.join(ROOT, "node_modules/.bin/tsc");
  const { stdout } = spawnSync(compiler, ["-p", "."], { cwd: project, encoding: "utf8" });
  return stdout;
}

function shellPath(shell: string): string | undefined {
  return [`/bin/${shell}`, `/usr/bin/${shell}`].find((place) => existsSync(place));
}
