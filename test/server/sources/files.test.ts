import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/model/clock.ts";
import { LIMITS } from "../../../src/model/limits.ts";
import {
  defineResource,
  defineResourceManager,
  type ResourceManager,
} from "../../../src/resource-managers/define.ts";
import { files, type FilesMap } from "../../../src/resource-managers/sources.ts";
import type { Server } from "../../../src/server/index.ts";
import { changedFiles, findFiles, fingerprintFiles } from "../../../src/sources/watched-files.ts";
import { host } from "../hosting.ts";
import { untilTrue } from "../server-process.ts";
import { tempFolder } from "../temp.ts";

/** A project in which `pages` is woken by files, with one resource for each key. */
async function watching(globs: string | string[], map?: FilesMap, keys = ["a", "b"], more = {}) {
  const project = tempFolder("pw-project");
  const write = (file: string, text = "x") => {
    mkdirSync(path.dirname(path.join(project, file)), { recursive: true });
    writeFileSync(path.join(project, file), text);
  };
  write("docs/a.md");
  write("docs/deep/b.md");
  write("other/c.txt");
  const pages = defineResourceManager<unknown, object>({
    name: "pages",
    initialStatus: () => ({}),
    sources: [files(globs, map)],
    reconcile: (ctx) => ctx.settled(),
  }) as ResourceManager;
  const options = { project, managers: [pages], ...more };
  const { server, home } = await host(options);
  for (const key of keys) await server.apply([defineResource("pages", { key, spec: {} })]);
  await untilTrue(async () => (await server.client.status()).passes.done === keys.length);
  // From its first look on.
  await untilTrue(() => marks(home) === 1);
  return { project, write, server, home, options };
}

/** How many sources have written down what they saw. */
function marks(home: string): number {
  const database = new Database(path.join(home, "state.sqlite"), { readonly: true });
  try {
    return database.prepare("SELECT count(*) FROM source_mark").pluck().get() as number;
  } finally {
    database.close();
  }
}

async function causesOf(server: Server, project: string, key: string): Promise<string[]> {
  const found = await server.client.get({ project, resourceManager: "pages", key });
  const passes = await server.client.passes(found?.resource.metadata.uid ?? "");
  return passes.map(({ cause }) => cause).reverse();
}

describe("a manager with a source of files", () => {
  it("looks at every resource when a file that matches is written, made, moved or deleted", async () => {
    const { project, write, server } = await watching("docs/**/*.md");
    const woken = async (count: number) => {
      await untilTrue(async () => (await causesOf(server, project, "a")).length > count);
      await untilTrue(async () => (await causesOf(server, project, "b")).length > count);
    };
    write("docs/a.md", "changed");
    await woken(1);
    write("docs/new/and/deeper/d.md");
    await woken(2);
    renameSync(path.join(project, "docs/a.md"), path.join(project, "docs/z.md"));
    await woken(3);
    rmSync(path.join(project, "docs/new"), { recursive: true });
    await woken(4);
    const [first, ...rest] = await causesOf(server, project, "a");
    expect(first).toBe("spec");
    expect(new Set(rest)).toEqual(new Set(["files:docs/**/*.md"]));
  });

  it("maps the paths that changed to keys, and nothing else is looked at", async () => {
    const asked: string[][] = [];
    const map: FilesMap = (paths) => {
      asked.push(paths);
      return paths.map((file) => path.basename(file, ".md"));
    };
    const { project, write, server } = await watching(["docs/**", "*.md"], map);
    write("other/c.txt", "not watched");
    write("docs/node_modules/x/b.md", "not looked into");
    write("docs/a.md", "changed");
    await untilTrue(async () => (await causesOf(server, project, "a")).length > 1);
    write("docs/deep/b.md", "changed");
    await untilTrue(async () => (await causesOf(server, project, "b")).length > 1);
    expect(asked.flat()).toEqual(["docs/a.md", "docs/deep/b.md"]);
  });

  it("looks at all where more files changed than are mapped", async () => {
    const { project, write, server } = await watching("many/*", () => {
      throw new Error("not asked");
    });
    for (let index = 0; index <= LIMITS.mappedPaths; index += 1)
      write(`../${path.basename(project)}/draft/${index}`);
    renameSync(path.join(project, "draft"), path.join(project, "many"));
    await untilTrue(async () => (await causesOf(server, project, "a")).length > 1);
    await untilTrue(async () => (await causesOf(server, project, "b")).length > 1);
    expect(await causesOf(server, project, "a")).toContain("files:many/*");
  });

  it("tries again where its map throws, and then tells what changed meanwhile", async () => {
    const asked: string[][] = [];
    const map: FilesMap = (paths) => {
      asked.push(paths);
      if (asked.length === 1) throw new Error("not now");
      return ["a"];
    };
    const { project, write, server } = await watching("docs/**", map);
    write("docs/a.md", "changed");
    await untilTrue(() => asked.length === 1);
    write("docs/deep/b.md", "changed");
    await untilTrue(async () => (await causesOf(server, project, "a")).length > 1);
    expect(asked.at(-1)).toEqual(["docs/a.md", "docs/deep/b.md"]);
  });

  it("looks after a restart where files changed while no server ran, and only then", async () => {
    const { project, write, server, home, options } = await watching("docs/**");
    await server.stop();
    const same = await host({ ...options, home });
    await same.server.stop();
    write("docs/a.md", "changed meanwhile");
    const again = await host({ ...options, home });
    await untilTrue(async () => (await causesOf(again.server, project, "a")).length > 1);
    expect(await causesOf(again.server, project, "a")).toEqual(["spec", "files:docs/**"]);
  });

  it("looks again where a file changed after the definition was accepted, before the first look", async () => {
    const project = tempFolder("pw-project");
    const source = defineResourceManager<unknown, object>({
      name: "pages",
      initialStatus: () => ({}),
      sources: [files("*.md")],
      reconcile: (ctx) => ctx.settled(),
    }) as ResourceManager;
    const plain = { ...source, sources: [] };
    const { server, home } = await host({ project, managers: [plain] });
    await server.apply([defineResource("pages", { key: "a", spec: {} })]);
    await untilTrue(async () => (await server.client.status()).passes.done === 1);
    await server.stop();
    // Newer than any definition: as if it had been written between acceptance and look.
    writeFileSync(path.join(project, "a.md"), "x");
    const clock = { ...systemClock, now: () => Date.now() - 60_000 };
    const again = await host({ project, home, managers: [source], clock });
    await untilTrue(async () => (await causesOf(again.server, project, "a")).length > 1);
    expect(await causesOf(again.server, project, "a")).toContain("files:*.md");
  });

  it("keeps its server from ending as idle", async () => {
    const { server } = await watching("docs/**", undefined, ["a"], { idleExitMs: 50 });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await server.client.status()).passes.done).toBe(1);
  });
});

describe("looking for files", () => {
  it("finds what matches, and the folders whose changes matter", async () => {
    const project = tempFolder("pw-files");
    for (const file of ["docs/a.md", "docs/deep/b.md", ".hidden/c.md", "node_modules/p/d.md"]) {
      mkdirSync(path.dirname(path.join(project, file)), { recursive: true });
      writeFileSync(path.join(project, file), "x");
    }
    const found = await findFiles(project, ["**/*.md"], 100);
    expect([...found.files.keys()]).toEqual([".hidden/c.md", "docs/a.md", "docs/deep/b.md"]);
    expect([...found.folders].sort()).toEqual(
      ["", ".hidden", "docs", "docs/deep"].map((folder) =>
        path.join(project, folder).replace(/\/$/, ""),
      ),
    );
    const one = await findFiles(project, ["docs/a.md"], 100);
    expect([...one.files.keys()]).toEqual(["docs/a.md"]);
    expect([...one.folders]).toContain(path.join(project, "docs"));
  });

  it("stops at the limit, and says so", async () => {
    const project = tempFolder("pw-files");
    for (const name of ["a", "b", "c"]) writeFileSync(path.join(project, name), "x");
    expect(await findFiles(project, ["*"], 3)).toMatchObject({ isCut: false });
    const cut = await findFiles(project, ["*"], 2);
    expect(cut).toMatchObject({ isCut: true });
    expect([...cut.files.keys()]).toEqual(["a", "b"]);
  });

  it("tells new, changed and gone files, and equal states by an equal fingerprint", () => {
    const before = new Map([
      ["a", "1"],
      ["b", "1"],
      ["c", "1"],
    ]);
    const now = new Map([
      ["a", "1"],
      ["b", "2"],
      ["d", "1"],
    ]);
    expect(changedFiles(before, now)).toEqual(["b", "c", "d"]);
    expect(changedFiles(before, new Map(before))).toEqual([]);
    expect(fingerprintFiles(before)).toBe(fingerprintFiles(new Map(before)));
    expect(fingerprintFiles(before)).not.toBe(fingerprintFiles(now));
  });
});
