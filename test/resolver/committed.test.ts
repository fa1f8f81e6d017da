import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { LIMITS } from "../../src/model/limits.ts";
import type { ResolveRequest } from "../../src/runner/resolver.ts";
import { digestOf, verifyCommittedInputs } from "../../src/sources/digest.ts";
import { makeRepository } from "../sources/git/repository.ts";
import { NOTE_DEFINITION, NOTE_FILE, type TempProject } from "../sources/temp-project.ts";
import { keys, lines, loadSpecs } from "./loading.ts";

const SPECS = ".pi/resources";
const json = (key: string, spec: unknown = { title: key }) =>
  JSON.stringify({ resourceManager: "note", key, spec });
const typed = (key: string, title = JSON.stringify(key), imports = "") =>
  `import { defineResource } from "@osolmaz/pi-workflows/resource-managers";
import note from "../resource-managers/note.resource-manager.ts";
${imports}
export default defineResource(note, { key: "${key}", spec: { title: ${title} } });
`;

/** A repository whose commits are loaded; the note definition is in it. */
function committed(files: Record<string, string>) {
  const { folder: root, write, git, commit: commitAll } = makeRepository();
  for (const [file, text] of Object.entries({ [NOTE_FILE]: NOTE_DEFINITION, ...files })) {
    write(file, text);
  }
  const project: TempProject = {
    root,
    path: (file) => path.join(root, file),
    write: (file, text) => {
      write(file, text.toString());
      return path.join(root, file);
    },
  };
  const gitDir = path.join(root, ".git");
  return {
    root,
    write,
    commit: commitAll,
    git,
    gitDir,
    load: (commit: string, some: string[], request: Partial<ResolveRequest> = {}) =>
      loadSpecs(project, some, { revision: { gitDir, commit }, ...request }),
    loadFromDisk: (some: string[]) => loadSpecs(project, some),
    wipe: () => {
      for (const file of git("ls-files").split("\n"))
        rmSync(path.join(root, file), { force: true });
    },
  };
}

describe("A commit is loaded as git has it", () => {
  it("with everything that the same files give from disk", async () => {
    const files = {
      [`${SPECS}/a.resource.json`]: json("a"),
      [`${SPECS}/b.resource.ts`]: typed("b", "title", 'import { title } from "../../lib/title";'),
      "lib/title.ts": 'import names from "./names.json"; export const title = names.b;',
      "lib/names.json": '{ "b": "Bee" }',
    };
    const { commit, load, loadFromDisk, gitDir } = committed(files);
    const head = commit("specs");
    const some = Object.keys(files).slice(0, 2);
    const fromGit = await load(head, some);
    const fromDisk = await loadFromDisk(some);
    expect(lines(fromGit)).toEqual([]);
    expect(keys(fromGit)).toEqual(["note a", "note b"]);
    const revision = { gitDir, commit: head };
    // In which order the bundler reads files is its own affair.
    const sorted = ({ files: read }: typeof fromGit) =>
      read.toSorted((a, b) => (a.file < b.file ? -1 : 1));
    expect({ ...fromGit, files: sorted(fromGit) }).toEqual({
      ...fromDisk,
      files: sorted(fromDisk),
      managers: fromDisk.managers.map((manager) => ({ ...manager, revision })),
    });
  });

  it("A-11: whatever the work tree holds: nothing, half a file, another branch", async () => {
    const { commit, load, write, wipe, git } = committed({
      [`${SPECS}/a.resource.json`]: json("a"),
      [`${SPECS}/b.resource.ts`]: typed("b", "one", 'import { one } from "../../lib/one.ts";'),
      "lib/one.ts": 'export const one = "one";',
    });
    const head = commit("specs");
    const some = [`${SPECS}/a.resource.json`, `${SPECS}/b.resource.ts`];
    const whole = await load(head, some);
    expect(keys(whole)).toEqual(["note a", "note b"]);

    write(some[0]!, '{ "resourceMa');
    write(some[1]!, "export default {{{");
    write("lib/one.ts", 'export const one = "two";');
    write(NOTE_FILE, "throw new Error();");
    expect(await load(head, some)).toEqual(whole);

    wipe();
    expect(await load(head, some)).toEqual(whole);

    git("checkout", "--quiet", "--orphan", "other");
    git("rm", "--quiet", "-r", "--cached", ".");
    expect(await load(head, some)).toEqual(whole);
  });

  it("without the work tree's line ends", async () => {
    const { commit, load, git, write } = committed({
      ".gitattributes": "* text=auto eol=crlf\n",
      [`${SPECS}/a.resource.ts`]: typed("a", "`x\n`"),
    });
    const head = commit("specs");
    git("rm", "--quiet", "-r", "--cached", ".");
    git("reset", "--quiet", "--hard");
    write("touched", "");
    const found = await load(head, [`${SPECS}/a.resource.ts`]);
    expect(found.desired[0]?.spec).toBe('{"level":"low","title":"x\\n"}');
  });

  it("with problems at the same places as from disk", async () => {
    const files = {
      [`${SPECS}/bad.resource.json`]: `{\n  "resourceManager": "note",\n  "key": "a", "spec": { "titel": 1 }\n}`,
      [`${SPECS}/half.resource.json`]: '{ "resourceManager": ',
      [`${SPECS}/conflict.resource.ts`]: `<<<<<<< HEAD\n${typed("c")}`,
      [`${SPECS}/syntax.resource.ts`]: `${typed("s")}\nconst = 1;\n`,
      [`${SPECS}/throws.resource.ts`]: `${typed("t")}\nthrow new Error("no");\n`,
      [`${SPECS}/missing.resource.ts`]: typed("m", "x", 'import { x } from "./gone.ts";'),
      [`${SPECS}/helper.resource.ts`]: typed("h", "x", 'import { x } from "../../lib/bad.ts";'),
      [`${SPECS}/package.resource.ts`]: typed("p", "x", 'import x from "no-such-package";'),
      "lib/bad.ts": "export const x = ;\n",
    };
    const { commit, load, loadFromDisk, wipe } = committed(files);
    const head = commit("specs");
    const some = Object.keys(files).slice(0, -1);
    const fromDisk = await loadFromDisk(some);
    wipe();
    const fromGit = await load(head, some);
    expect(fromDisk.problems.length).toBeGreaterThanOrEqual(some.length);
    expect(fromGit.problems).toEqual(fromDisk.problems);
  });

  it("with packages of the project from disk, and sources linked into it from the commit", async () => {
    const { commit, load, write, root } = committed({
      ".gitignore": "node_modules\n",
      [`${SPECS}/a.resource.ts`]: typed(
        "a",
        "one + two",
        'import one from "one"; import two from "two";',
      ),
      "packages/two/package.json": '{ "name": "two", "main": "./index.ts" }',
      "packages/two/index.ts": 'export default "two";',
    });
    const head = commit("specs");
    mkdirSync(path.join(root, "node_modules/one"), { recursive: true });
    write("node_modules/one/package.json", '{ "name": "one", "main": "./index.js" }');
    write("node_modules/one/index.js", 'module.exports = "one";');
    symlinkSync("../packages/two", path.join(root, "node_modules/two"));
    write("packages/two/index.ts", 'export default "not committed";');
    const found = await load(head, [`${SPECS}/a.resource.ts`]);
    expect(lines(found)).toEqual([]);
    expect(found.desired[0]?.spec).toContain("onetwo");
    expect(found.imports?.[`${SPECS}/a.resource.ts`]).toContain("packages/two/index.ts");
  });

  it("with the tsconfig.json of the commit, not the one on the disk", async () => {
    const files = {
      "tsconfig.json": `{
  // The longer pattern counts first.
  "compilerOptions": { "baseUrl": "./src", "paths": { "@/*": ["gone/*", "../lib/*"], "@/one": ["one.ts"] } },
}`,
      "lib/title.ts": 'export const title = "of the commit";',
      "src/one.ts": 'export { one } from "inner/two";',
      "src/inner/two.ts": 'export const one = "one";',
      [`${SPECS}/a.resource.ts`]: typed(
        "a",
        "title + one",
        'import { title } from "@/title"; import { one } from "@/one";',
      ),
      [`${SPECS}/b.resource.ts`]: typed("b", "x", 'import { x } from "#disk/x";'),
    };
    const { commit, load, loadFromDisk, write } = committed(files);
    const some = Object.keys(files).slice(-2);
    const head = commit("specs");
    expect((await loadFromDisk(some)).desired).toEqual((await load(head, some)).desired);
    write("tsconfig.json", '{ "compilerOptions": { "paths": { "#disk/*": ["./lib/*"] } } }');
    write("lib/x.ts", 'export const x = "from disk";');
    write("lib/title.ts", "");
    const found = await load(head, some);
    expect(found.desired.map(({ spec }) => spec)).toEqual([
      '{"level":"low","title":"of the commitone"}',
    ]);
    expect(lines(found)).toEqual([expect.stringContaining("#disk") as string]);
  });

  it("links lead to files of the same commit, and nowhere else", async () => {
    const { commit, load, write, root } = committed({
      "shared/real.json": json("linked"),
      "shared/title.ts": 'export const title = "T";',
      [`${SPECS}/inner.resource.ts`]: typed(
        "inner",
        "title",
        'import { title } from "./lib/title";',
      ),
    });
    const link = (target: string, name: string) =>
      symlinkSync(target, path.join(root, SPECS, name));
    link("../../shared/real.json", "linked.resource.json");
    link("../../shared", "lib");
    link("loop.resource.json", "loop.resource.json");
    link("../../../outside.json", "out.resource.json");
    link("/etc/hostname", "absolute.resource.json");
    link("gone.json", "gone.resource.json");
    const head = commit("links");
    write("shared/real.json", "not committed");
    const names = ["linked", "loop", "out", "absolute", "gone"];
    const files = names.map((name) => `${SPECS}/${name}.resource.json`);
    const found = await load(head, [...files, `${SPECS}/inner.resource.ts`]);
    expect(keys(found)).toEqual(["note inner", "note linked"]);
    expect(lines(found)).toEqual([
      `${SPECS}/absolute.resource.json:1:1: the symbolic link leads out of the commit, to /etc/hostname`,
      `${SPECS}/gone.resource.json:1:1: the file does not exist`,
      `${SPECS}/loop.resource.json:1:1: the symbolic link leads back to itself`,
      `${SPECS}/out.resource.json:1:1: the symbolic link leads out of the commit, to ../../../outside.json`,
    ]);
  });

  it("refuses submodules, pointers of Git LFS, what is too large, and folders", async () => {
    const inner = makeRepository();
    inner.write("x.resource.json", json("x"));
    inner.write("lib.ts", 'export const x = "x";');
    inner.commit("inner");
    const { commit, load, git } = committed({
      [`${SPECS}/lfs.resource.json`]: `version https://git-lfs.github.com/spec/v1\noid sha256:${"0".repeat(64)}\nsize 12\n`,
      [`${SPECS}/lfs.resource.ts`]: `version https://git-lfs.github.com/spec/v1\noid sha256:${"0".repeat(64)}\nsize 12\n`,
      [`${SPECS}/large.resource.json`]: json("large") + " ".repeat(LIMITS.manifestFile),
      [`${SPECS}/large.resource.ts`]: typed("large") + " ".repeat(LIMITS.manifestFile),
      [`${SPECS}/limit.resource.json`]: json("limit").padEnd(LIMITS.manifestFile),
      [`${SPECS}/imports.resource.ts`]: typed("i", "x", 'import { x } from "./sub/lib.ts";'),
      [`${SPECS}/folder.resource.json/file`]: "",
    });
    git(
      "-c",
      "protocol.file.allow=always",
      "submodule",
      "--quiet",
      "add",
      inner.folder,
      `${SPECS}/sub`,
    );
    const head = commit("all");
    const names = git("ls-files", SPECS).split("\n");
    const files = names.filter((name) => /\.(?:json|ts)$/.test(name));
    const found = await load(head, [
      ...files,
      `${SPECS}/sub/x.resource.json`,
      `${SPECS}/folder.resource.json`,
    ]);
    expect(keys(found)).toEqual(["note limit"]);
    const said = lines(found).map((line) =>
      line.replace(`${SPECS}/`, "").replace(/ has \d+ bytes/, ""),
    );
    expect(said).toEqual([
      "folder.resource.json:1:1: this is a folder, not a file",
      expect.stringMatching(/^imports\.resource\.ts:3:19: it lies in the submodule .*sub/),
      `large.resource.json:1:1: the file; at most ${LIMITS.manifestFile} are allowed`,
      `large.resource.ts:1:1: the file; at most ${LIMITS.manifestFile} are allowed`,
      expect.stringMatching(/^lfs\.resource\.json:1:1: the file is a Git LFS pointer/),
      expect.stringMatching(/^lfs\.resource\.ts:1:1: the file is a Git LFS pointer/),
      expect.stringMatching(/^sub\/x\.resource\.json:1:1: it lies in the submodule/),
    ]);
  });

  it("gives definitions of the commit, and those for every project from disk", async () => {
    const { commit, load, write, wipe, root } = committed({
      [`${SPECS}/a.resource.json`]: json("a"),
    });
    const head = commit("specs");
    wipe();
    write(
      ".pi/resource-managers/later.resource-manager.ts",
      NOTE_DEFINITION.replace("note", "later"),
    );
    write("global/wide.resource-manager.ts", NOTE_DEFINITION.replace('"note"', '"wide"'));
    write("global/note.resource-manager.ts", "throw new Error();");
    // Not in the commit, so it hides nothing of what that is about.
    write(".pi/resource-managers/wide.resource-manager.ts", "throw new Error();");
    const found = await load(head, [`${SPECS}/a.resource.json`], { managers: "all" });
    expect(lines(found)).toEqual([]);
    const managers = found.managers.map(({ name, scope, revision }) => [
      name,
      scope,
      revision?.commit,
    ]);
    expect(managers).toEqual([
      ["note", "project", head],
      ["wide", "global", head],
    ]);
    const [, wide] = found.managers;
    if (wide?.revision === undefined) throw new Error("the definition was not loaded");
    const globalFolder = path.join(root, "global");
    const proposed = { ...wide, revision: wide.revision };
    await expect(verifyCommittedInputs(root, proposed, globalFolder)).resolves.toBeUndefined();
    write("global/wide.resource-manager.ts", "// changed");
    await expect(verifyCommittedInputs(root, proposed, globalFolder)).rejects.toMatchObject({
      code: "DEFINITION_CHANGED",
    });
  });

  it("fails as a whole where the commit is not there", async () => {
    const { commit, load } = committed({});
    commit("empty");
    await expect(load("0".repeat(40), [`${SPECS}/a.resource.json`])).rejects.toMatchObject({
      code: "RESOLVE_FAILED",
      message: expect.stringMatching(/has no commit 0000/) as string,
    });
  });
});

describe("What specs import", () => {
  it("is told for each, however it is reached, from disk and from commits", async () => {
    const files = {
      [`${SPECS}/a.resource.ts`]: typed("a", "a", 'import { a } from "../../lib/a.ts";'),
      [`${SPECS}/b.resource.ts`]: typed("b", "b", 'import { b } from "../../lib/b.ts";'),
      [`${SPECS}/plain.resource.ts`]: "export default [];",
      "lib/a.ts":
        'import { b } from "./b.ts"; import type { T } from "./types.ts"; export const a: T = b + "a";',
      "lib/b.ts":
        'import { a } from "./a.ts"; import d from "./data.json"; void a; export const b: string = d.d;',
      "lib/data.json": '{ "d": "d" }',
      "lib/types.ts": "export type T = string;",
    };
    const { commit, load, loadFromDisk } = committed(files);
    const some = Object.keys(files).slice(0, 3);
    const head = commit("specs");
    for (const found of [await loadFromDisk(some), await load(head, some)]) {
      const sorted = Object.entries(found.imports ?? {}).map(([file, all]) => [file, all.sort()]);
      expect(Object.fromEntries(sorted)).toEqual({
        [`${SPECS}/a.resource.ts`]: [NOTE_FILE, "lib/a.ts", "lib/b.ts", "lib/data.json"],
        [`${SPECS}/b.resource.ts`]: [NOTE_FILE, "lib/a.ts", "lib/b.ts", "lib/data.json"],
        [`${SPECS}/plain.resource.ts`]: [],
      });
    }
  });
});

describe("A-14: a definition of a commit is accepted only as that commit has it", () => {
  async function proposal() {
    const made = committed({ "lib.ts": "export {};" });
    made.write(NOTE_FILE, `import "../../lib.ts";\n${NOTE_DEFINITION}`);
    const head = made.commit("definition");
    const [manager] = (await made.load(head, [], { managers: "all" })).managers;
    if (manager?.revision === undefined) throw new Error("the definition was not loaded");
    const accepted = { ...manager, revision: manager.revision };
    const verify = (changed = accepted) =>
      verifyCommittedInputs(made.root, changed, path.join(made.root, "global"));
    return { ...made, head, manager: accepted, verify };
  }
  const refused = { code: "DEFINITION_CHANGED" };

  it("whatever is on the disk", async () => {
    const { verify, wipe } = await proposal();
    await expect(verify()).resolves.toBeUndefined();
    wipe();
    await expect(verify()).resolves.toBeUndefined();
  });

  it("not with another commit, file, bundle, path or scope", async () => {
    const { verify, manager, write, commit, gitDir, root } = await proposal();
    write("lib.ts", "export {}; // changed");
    write("evil.ts", "");
    const next = commit("changed");
    const inputs = manager.inputs.filter(({ path: file }) => file !== manager.path);
    const changes = [
      { revision: { gitDir, commit: next } },
      { bundle: "export default 1;" },
      { path: path.join(root, "evil.ts") },
      { scope: "global" as const },
      { inputs, digest: digestOf(manager.bundle, inputs) },
      { name: "other" },
    ];
    for (const change of changes) {
      await expect(verify({ ...manager, ...change })).rejects.toMatchObject(refused);
    }
    const gone = { revision: { gitDir, commit: "0".repeat(40) } };
    await expect(verify({ ...manager, ...gone })).rejects.toMatchObject({ code: "GIT_FAILED" });
  });

  it("not from another repository", async () => {
    const { verify, manager } = await proposal();
    const other = makeRepository();
    other.write("x", "");
    const revision = { gitDir: path.join(other.folder, ".git"), commit: other.commit("other") };
    await expect(verify({ ...manager, revision })).rejects.toMatchObject({ code: "GIT_FAILED" });
  });
});
