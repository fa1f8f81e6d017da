import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildAll } from "./stage.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const NAME = "@osolmaz/pi-workflows";
const manifest = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")) as {
  version: string;
  bin: Record<string, string>;
  exports: Record<string, string | { types: string; default: string }>;
};

const root = realpathSync(mkdtempSync(path.join(tmpdir(), "pw-package-")));
const consumer = path.join(root, "consumer");
const installed = path.join(consumer, "node_modules", NAME);
let files: string[] = [];

beforeAll(() => {
  buildAll();
  buildTypes();
  files = pack();
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** The full build does it; a quick one of other tests leaves the types as they were. */
function buildTypes(): void {
  const modified = (file: string) =>
    statSync(path.join(ROOT, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const sources = readdirSync(path.join(ROOT, "src"), { recursive: true, encoding: "utf8" });
  const newest = Math.max(...sources.map((file) => modified(path.join("src", file))));
  if (modified("dist/server/index.d.ts") > newest) return;
  run(path.join(ROOT, "node_modules/.bin/tsc"), ["-p", "tsconfig.build.json"], ROOT);
}

/** Packs, and installs what was packed beside the packages that it depends on. Returns its files. */
function pack(): string[] {
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", root];
  const [packed] = JSON.parse(run("npm", args, ROOT)) as [
    { filename: string; files: { path: string }[] },
  ];
  mkdirSync(installed, { recursive: true });
  const tarball = path.join(root, packed.filename);
  run("tar", ["-xzf", tarball, "-C", installed, "--strip-components=1"], root);
  symlinkSync(path.join(ROOT, "node_modules"), path.join(root, "node_modules"));
  return packed.files.map((file) => file.path);
}

function run(command: string, args: string[], cwd: string): string {
  const env = { ...process.env, PI_WORKFLOWS_HOME: path.join(root, "state"), HOME: root };
  return execFileSync(command, args, {
    cwd,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
}

describe("the package", () => {
  it("holds what it names, what its programs start, and what a person reads", () => {
    const named = [
      ...Object.values(manifest.bin),
      ...Object.values(manifest.exports).flatMap((entry) =>
        typeof entry === "string" ? [entry] : Object.values(entry),
      ),
    ].map((file) => path.normalize(file));
    const started = [
      "dist/server/main.js",
      "dist/runner/child.js",
      "dist/runner/resolver-child.js",
      "examples/greeting/.pi/resource-managers/greeting.resource-manager.ts",
      "examples/greeting/.pi/resources/hello.resource.json",
      "examples/pull-request/.pi/resource-managers/pull-request.resource-manager.ts",
    ];
    const loadedByPi = ["dist/extension/index.js", "skills/pi-workflows/SKILL.md"];
    const read = ["README.md", "LICENSE", "CHANGELOG.md", "ARCHITECTURE.md"];
    const generated = ["docs", "schemas"].flatMap((folder) =>
      readdirSync(path.join(ROOT, folder)).map((file) => `${folder}/${file}`),
    );
    const wanted = [...named, ...started, ...loadedByPi, ...read, ...generated];
    expect(wanted.filter((file) => !files.includes(file))).toEqual([]);
  });

  it("holds nothing else: no sources, tests, benchmarks, or maps of sources that are not there", () => {
    const allowed = [
      /^(?:README|CHANGELOG|ARCHITECTURE)\.md$/,
      /^(?:LICENSE|package\.json)$/,
      /^dist\/[^.][^\s]*\.(?:js|d\.ts)$/,
      /^schemas\/[\w.-]+\.schema\.json$/,
      /^skills\/[\w-]+\/(?:SKILL\.md|examples\/\.pi\/[\w-]+\/[\w./-]+\.(?:ts|json))$/,
      /^docs\/[\w.-]+\.(?:md|sql)$/,
      /^examples\/[\w-]+\/(?:README\.md|\.pi\/(?:resource-managers|resources|workflows)\/[\w./-]+\.(?:ts|json))$/,
    ];
    expect(files.filter((file) => !allowed.some((form) => form.test(file)))).toEqual([]);
    expect(files.filter((file) => /\.test\.|(?:^|\/)node_modules\//.test(file))).toEqual([]);
  });

  it("holds no path of the machine that built it", () => {
    const found = files.filter((file) =>
      readFileSync(path.join(installed, file), "utf8").includes(ROOT),
    );
    expect(found).toEqual([]);
  });

  it("has types that a consumer's strict compiler takes, and that catch a mistake", () => {
    writeFileSync(path.join(consumer, "consumer.ts"), CONSUMER);
    writeFileSync(
      path.join(consumer, "tsconfig.json"),
      JSON.stringify({
        compilerOptions: {
          strict: true,
          module: "nodenext",
          target: "es2023",
          types: ["node"],
          noEmit: true,
        },
        include: ["consumer.ts"],
      }),
    );
    const tsc = path.join(ROOT, "node_modules/.bin/tsc");
    const checked = spawnSync(tsc, ["-p", "."], { cwd: consumer, encoding: "utf8" });
    expect(checked.stdout).toBe("");
    expect(checked.status).toBe(0);
  });

  it("has exports that Node loads, and keeps the rest to itself", () => {
    const names = Object.keys(manifest.exports).filter((name) => name !== "./package.json");
    const program = `
      for (const name of ${JSON.stringify(names)}) {
        const module = await import(name.replace(".", "${NAME}"));
        console.log(name, Object.keys(module).includes("default"), Object.keys(module).length > 0);
      }
      await import("${NAME}/dist/model/errors.js").catch(({ code }) => console.log(code));
    `;
    writeFileSync(path.join(consumer, "load.mjs"), program);
    expect(run(process.execPath, ["load.mjs"], consumer).trim().split("\n")).toEqual([
      ...names.map((name) => `${name} false true`),
      "ERR_PACKAGE_PATH_NOT_EXPORTED",
    ]);
  });

  it("works as it was packed: from init to a resource that is ready", () => {
    const project = path.join(root, "automation");
    mkdirSync(project);
    const cli = path.join(installed, manifest.bin["pi-workflows"] as string);
    const pi = (...args: string[]) => run(process.execPath, [cli, ...args], project);
    try {
      expect(pi("--version").trim()).toBe(manifest.version);
      pi("init");
      expect(pi("apply", "-f", ".pi/resources", "--wait")).toContain("3 of 3 ready");
    } finally {
      pi("server", "stop");
    }
  });
});

const CONSUMER = `
import {
  conditionTrue,
  defineResource,
  defineResourceManager,
  type ManagedResource,
} from "${NAME}/resource-managers";
import { createServer, type Server } from "${NAME}/server";
import { compute, decision, defineWorkflow, end, type PureContext } from "${NAME}";
import type { Workflow } from "${NAME}/workflows";
import { z } from "zod";

const manager = defineResourceManager({
  name: "consumer",
  spec: z.object({ count: z.number() }),
  initialStatus: () => ({ seen: 0 }),
  async reconcile(ctx, resource) {
    const seen: number = resource.status.resourceManagerStatus.seen + resource.spec.count;
    return ctx.settled({
      resourceManagerStatus: { seen },
      conditions: [conditionTrue("Ready", "Counted")],
    });
  },
});
export default defineResource(manager, { key: "one", spec: { count: 1 } });
// @ts-expect-error -- count is a number
defineResource(manager, { key: "two", spec: { count: "2" } });
export type Resource = ManagedResource<{ count: number }, { seen: number }>;
export const server: Server = createServer({ home: "/nowhere", managers: [manager] });

const count = compute({ output: z.number(), run: () => 1 });
const judge = decision({ choices: ["few", "many"], choose: ({ output }) => (output(count) > 1 ? "many" : "few") });
const parts = {
  name: "consumer",
  input: z.object({}),
  output: z.number(),
  startAt: "count" as const,
  nodes: { count, judge },
  exits: { done: ({ output }: PureContext) => output(count) },
};
export const workflow: Workflow = defineWorkflow({
  ...parts,
  edges: { count: "judge", judge: { few: end("done"), many: end("done") } },
});
defineWorkflow({
  ...parts,
  // @ts-expect-error -- many is missing
  edges: { count: "judge", judge: { few: end("done") } },
});
`;
