import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { PIS, type InstalledPi } from "../pi/support/installed.ts";
import { startPi } from "../pi/support/rpc.ts";
import { writeCounter } from "./support/counter.ts";
import { buildExtension, setStage, type, type Stage } from "./support/stage.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");

beforeAll(() => buildExtension());

/** Packs, and unpacks what was packed beside the packages that it depends on. */
function installPackage(stage: Stage): string {
  const { root } = stage.machine;
  const pack = ["pack", "--json", "--ignore-scripts", "--pack-destination", root];
  const packed = execFileSync("npm", pack, {
    cwd: ROOT,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [{ filename }] = JSON.parse(packed) as [{ filename: string }];
  const folder = path.join(root, "npm/node_modules/@osolmaz/pi-workflows");
  mkdirSync(folder, { recursive: true });
  execFileSync("tar", ["-xzf", path.join(root, filename), "-C", folder, "--strip-components=1"]);
  symlinkSync(path.join(ROOT, "node_modules"), path.join(root, "node_modules"));
  return folder;
}

describe.each(PIS)("the packed package in a fresh Pi $version", (pi) => {
  it("is installed by `pi install`, and brings commands, tools, the skill and a server", async (test) => {
    const stage = setStage(test, { pi });
    writeCounter(stage, "a", 1);
    const { machine, env } = stage;
    const how = { cwd: machine.project, env, encoding: "utf8" as const };
    execFileSync(pi.node, [pi.cli, "install", installPackage(stage)], how);

    const session = await startPi(test, { pi, machine, env });
    const { commands } = (await session.call({ type: "get_commands" })) as {
      commands: { name: string }[];
    };
    const names = commands.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(["resource-manager", "workflow", "skill:pi-workflows"]),
    );
    expect(await type(session, "/resource-manager apply specs")).toContain("created counter a");
    expect(await session.close()).toBe(0);

    const printed = spawnSync(pi.node, [pi.cli, "-p", "/resource-manager list"], how);
    expect(printed.stderr).toMatch(/MANAGER +KEY.*\ncounter +a +(?:True|Unknown)/);
    expect(printed.status).toBe(0);
  });
});

describe("the types that the extension has of Pi", () => {
  it.for(PIS)(
    "are those of $version: our factory is an extension of it",
    (pi: InstalledPi, test) => {
      const stage = setStage(test, { pi });
      const [, modules = "", name = ""] =
        /^(.*\/node_modules)\/(@[\w-]+\/pi-coding-agent)\//.exec(pi.cli) ?? [];
      const folder = path.join(stage.machine.root, "types");
      mkdirSync(folder);
      symlinkSync(modules, path.join(folder, "node_modules"));
      const source = path.join(ROOT, "src/extension/index.ts");
      writeFileSync(
        path.join(folder, "check.mts"),
        `import type { ExtensionAPI } from "${name}";
       import extension from ${JSON.stringify(source)};
       export const check: (pi: ExtensionAPI) => void = extension;`,
      );
      const options = {
        extends: path.join(ROOT, "tsconfig.json"),
        compilerOptions: {
          noEmit: true,
          allowImportingTsExtensions: true,
          rewriteRelativeImportExtensions: false,
          exactOptionalPropertyTypes: false,
          typeRoots: [path.join(ROOT, "node_modules/@types")],
        },
        include: ["check.mts"],
      };
      writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify(options));
      const tsc = path.join(ROOT, "node_modules/.bin/tsc");
      const said = spawnSync(tsc, ["-p", folder], { encoding: "utf8" }).stdout;
      expect(said).toBe("");
    },
  );
});
