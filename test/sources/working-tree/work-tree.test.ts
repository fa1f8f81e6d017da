import { hash } from "node:crypto";
import {
  chmodSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  watch,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Scan } from "../../../src/sources/working-tree/scan.ts";
import { readState } from "../../../src/sources/working-tree/file-state.ts";
import { makeRepository } from "../git/repository.ts";
import { tempProject } from "../temp-project.ts";
import { SPECS, watching } from "./watching.ts";

const sha = (text: string) => hash("sha256", text, "hex");
const spec = (key: string, value = 1) =>
  `${JSON.stringify({ resourceManager: "note", key, spec: { value } }, null, 2)}\n`;
const A = `${SPECS}/a.resource.json`;
const holds = (file: string, text: string) => (scan: Scan) => scan.specs.get(file) === sha(text);

describe("A-11: what editors do to a file ends in what was saved, with nothing in between", () => {
  const before = spec("a", 1);
  const after = spec("a", 2);
  const patterns: Record<string, (file: string) => Promise<void> | void> = {
    "written in place": (file) => writeFileSync(file, after),
    "truncated, then written": async (file) => {
      writeFileSync(file, "");
      await pause(70);
      writeFileSync(file, after);
    },
    "written by halves": async (file) => {
      writeFileSync(file, after.slice(0, 20));
      await pause(70);
      writeFileSync(file, after);
    },
    "written beside and renamed": (file) => {
      writeFileSync(`${file}.tmp`, after);
      renameSync(`${file}.tmp`, file);
    },
    "moved to a backup and written again": async (file) => {
      renameSync(file, `${file}~`);
      await pause(70);
      writeFileSync(file, after);
      unlinkSync(`${file}~`);
    },
    "deleted and made again": async (file) => {
      unlinkSync(file);
      await pause(100);
      writeFileSync(file, after);
    },
  };
  for (const [name, save] of Object.entries(patterns)) {
    it(`a file ${name}`, async () => {
      const project = tempProject({ [A]: before });
      const { states, until } = await watching(project.root);
      await save(project.path(A));
      await until(holds(A, after));
      const contents = states.map(({ specs }) => specs.get(A));
      expect(contents).toEqual([sha(before), sha(after)]);
    });
  }
});

it("A-11: a file saved again and again ends in the last save, and what is seen before is whole", async () => {
  const project = tempProject({ [A]: spec("a", 0) });
  const { states, until } = await watching(project.root);
  for (let count = 1; count <= 20; count += 1) {
    project.write(A, spec("a", count));
    await pause(15);
  }
  await until(holds(A, spec("a", 20)));
  const saved = Array.from({ length: 21 }, (_, count) => sha(spec("a", count)));
  expect(states.every(({ specs }) => saved.includes(specs.get(A) ?? ""))).toBe(true);
  expect(states.length).toBeLessThan(20);
});

describe("What was saved is noticed", () => {
  it("in new folders, however quickly they are filled", async () => {
    const project = tempProject({ [A]: spec("a") });
    const { until } = await watching(project.root);
    for (let index = 0; index < 20; index += 1) {
      project.write(`${SPECS}/new/er/n${index}/x.resource.json`, spec(`x${index}`));
    }
    const { specs } = await until(({ specs: found }) => found.size === 21);
    expect(specs.get(`${SPECS}/new/er/n7/x.resource.json`)).toBe(sha(spec("x7")));
  });

  it("also what is put into a new folder after it was read and before it is watched", async () => {
    const project = tempProject({ [A]: spec("a") });
    const [first, late] = ["new/first", "new/late"].map((name) => `${SPECS}/${name}.resource.json`);
    const { states, until } = await watching(project.root, {
      watchFolder: (folder, onEvent) => {
        if (folder.endsWith("/new")) project.write(late as string, spec("late"));
        return watch(folder, onEvent);
      },
    });
    project.write(first as string, spec("first"));
    await until(holds(late as string, spec("late")));
    expect(states.map(({ specs }) => specs.size)).toEqual([1, 3]);
  });

  it("where the folder of specs did not exist before", async () => {
    const project = tempProject({ "README.md": "" });
    const { states, until } = await watching(project.root);
    expect(states[0]).toMatchObject({ absentRoots: [SPECS] });
    project.write(A, spec("a"));
    const found = await until(holds(A, spec("a")));
    expect(found.absentRoots).toEqual([]);
  });

  it("of workflows, in a folder that did not exist before", async () => {
    const project = tempProject({ [A]: spec("a"), ".pi/resource-managers/.keep": "" });
    const { states, until } = await watching(project.root);
    const file = ".pi/workflows/hello.workflow.ts";
    for (const text of ["one", "two"]) {
      project.write(file, text);
      await until(({ others }) => others.get(file) === sha(text));
    }
    expect(states).toHaveLength(3);
  });

  it("of the user's workflows, whose folder is the server's own too, without watching it", async () => {
    const project = tempProject({ [A]: spec("a"), "workflows/state.sqlite": "" });
    const watched: string[] = [];
    const { tree, states, until } = await watching(project.root, {
      watchFolder: (folder, onEvent) => {
        watched.push(path.relative(project.root, folder));
        return watch(folder, onEvent);
      },
    });
    project.write("workflows/wide.workflow.ts", "one");
    project.write("workflows/bundles/old.workflow.ts", "one");
    project.write("workflows/state.sqlite", "changed");
    tree.lookAgain();
    const { others } = await until((scan) => scan.others.size > 0);
    expect([...others.keys()]).toEqual(["workflows/wide.workflow.ts"]);
    expect(watched).not.toContain("workflows");
    rmSync(project.path("workflows/wide.workflow.ts"));
    tree.lookAgain();
    await until((scan) => scan !== states[0] && scan.others.size === 0);
  });

  it("through a link to a file of the project", async () => {
    const project = tempProject({ "shared/real.json": spec("a"), [`${SPECS}/.keep`]: "" });
    symlinkSync("../../shared/real.json", project.path(A));
    const { until } = await watching(project.root);
    project.write("shared/real.json", spec("a", 2));
    expect((await until(holds(A, spec("a", 2)))).problems).toEqual([]);
  });

  it("in definitions, and in what is imported", async () => {
    const project = tempProject({ [A]: spec("a"), "lib/x.ts": "1", "lib/y.ts": "1" });
    const { tree, until, states } = await watching(project.root);
    const first = states[0] as Scan;
    tree.include(new Map([["lib/x.ts", sha("1")]]));
    tree.lookAgain();
    expect((await tree.settled(5_000))?.id).toBe(first.id);
    project.write("lib/y.ts", "2");
    project.write("lib/x.ts", "2");
    const second = await until(({ others }) => others.get("lib/x.ts") === sha("2"));
    project.write(".pi/resource-managers/deep/er.ts", "3");
    await until(({ others }) => others.has(".pi/resource-managers/deep/er.ts"));
    expect(states).toHaveLength(3);
    expect([...(tree.changedSince(first.id) ?? [])]).toEqual([
      "lib/x.ts",
      ".pi/resource-managers/deep/er.ts",
    ]);
    expect([...(tree.changedSince(second.id) ?? [])]).toEqual([".pi/resource-managers/deep/er.ts"]);
    expect(tree.changedSince("unknown")).toBeUndefined();
  });

  it("by its content alone, whatever its size and times say", async () => {
    const project = tempProject({ [A]: spec("a", 1) });
    const { states, until, tree } = await watching(project.root);
    const at = new Date(2020, 1, 1);
    project.write(A, spec("a", 2));
    utimesSync(project.path(A), at, at);
    await until(holds(A, spec("a", 2)));
    project.write(A, spec("a", 3));
    utimesSync(project.path(A), at, at);
    await until(holds(A, spec("a", 3)));
    // Written again as it was: nothing happened.
    project.write(A, spec("a", 3));
    tree.lookAgain();
    await tree.settled(5_000);
    expect(states).toHaveLength(3);
  });
});

describe("A file whose size, times and inode stayed", () => {
  it("is not read again, unless it had changed too shortly before to tell", () => {
    const file = tempProject({ "a.resource.json": spec("a") }).path("a.resource.json");
    const changedAt = Date.now();
    const fresh = readState(file, undefined, changedAt);
    const settled = readState(file, undefined, changedAt + 10_000);
    if (fresh === undefined || settled === undefined) throw new Error("the file is not there");
    expect([fresh.isRacy, settled.isRacy]).toEqual([true, false]);
    const stale = { ...settled, content: "another" };
    expect(readState(file, stale, changedAt)).toBe(stale);
    expect(readState(file, { ...stale, isRacy: true }, changedAt)?.content).toBe(sha(spec("a")));
  });
});

describe("A file that is gone", () => {
  it("is so once its absence has lasted, and a move is one step", async () => {
    const project = tempProject({ [A]: spec("a") });
    const { states, until } = await watching(project.root);
    const moved = `${SPECS}/moved.resource.json`;
    renameSync(project.path(A), project.path(moved));
    await until(holds(moved, spec("a")));
    unlinkSync(project.path(moved));
    await until(({ specs }) => specs.size === 0);
    expect(states.map(({ specs }) => [...specs.keys()])).toEqual([[A], [moved], []]);
    expect(states.map(({ absentRoots }) => absentRoots)).toEqual([[], [], []]);
  });

  it("is none where its folder went with it: the root is missing", async () => {
    const project = tempProject({ [A]: spec("a") });
    const { until } = await watching(project.root);
    rmSync(project.path(SPECS), { recursive: true });
    const gone = await until(({ absentRoots }) => absentRoots.length > 0);
    expect(gone.absentRoots).toEqual([SPECS]);
    mkdirSync(project.path(SPECS));
    project.write(A, spec("a", 2));
    await until(holds(A, spec("a", 2)));
  });

  it.skipIf(process.getuid?.() === 0)("stays where nobody may look", async () => {
    const project = tempProject({ [A]: spec("a"), [`${SPECS}/in/b.resource.json`]: spec("b") });
    const { until } = await watching(project.root);
    chmodSync(project.path(`${SPECS}/in`), 0o000);
    const found = await until(({ problems }) => problems.length > 0);
    chmodSync(project.path(`${SPECS}/in`), 0o755);
    expect(found.specs.size).toBe(2);
  });
});

describe("While git works on the files", () => {
  async function repository() {
    const made = makeRepository();
    made.write(A, spec("a"));
    made.commit("first");
    return { ...made, gitDir: path.join(made.folder, ".git") };
  }

  it("A-11: a checkout of a thousand files is one step there and one back", async () => {
    const { folder, gitDir, git, write, commit } = await repository();
    const name = (index: number) => `${SPECS}/d${index % 10}/s${index}.resource.json`;
    for (let index = 0; index < 1_000; index += 1) write(name(index), spec(`s${index}`));
    commit("thousand");
    git("checkout", "--quiet", "-b", "other");
    for (let index = 0; index < 1_000; index += 1) write(name(index), spec(`s${index}`, 2));
    for (let index = 0; index < 300; index += 1) {
      rmSync(path.join(folder, name(index)));
      write(`${SPECS}/new${index % 7}/n${index}.resource.json`, spec(`n${index}`));
    }
    commit("changed");
    const { states, until } = await watching(folder, { gitDir });
    git("checkout", "--quiet", "main");
    await until(({ specs }) => specs.get(name(999)) === sha(spec("s999")));
    git("checkout", "--quiet", "other");
    await until((scan) => scan !== states[0] && scan.specs.get(name(999)) === sha(spec("s999", 2)));
    expect(states.map(({ specs }) => specs.size)).toEqual([1_001, 1_001, 1_001]);
    expect(states[2]?.id).toBe(states[0]?.id);
  });

  it("A-12: a rebase that stops at a conflict holds everything until it ends, and is named", async () => {
    const { folder, gitDir, git, write, commit } = await repository();
    git("checkout", "--quiet", "-b", "topic");
    write(A, spec("a", 2));
    commit("two");
    git("checkout", "--quiet", "main");
    write(A, spec("a", 3));
    commit("three");
    git("checkout", "--quiet", "topic");
    const { states, tree, until } = await watching(folder, { gitDir });
    expect(() => git("rebase", "main")).toThrow("rebase");
    tree.lookAgain();
    expect(await tree.settled(300)).toBeUndefined();
    expect(tree.hold).toMatchObject({ kind: "rebase", file: "rebase-merge" });
    write(A, spec("a", 4));
    git("add", A);
    git("-c", "core.editor=true", "rebase", "--continue");
    await until(holds(A, spec("a", 4)));
    expect(tree.hold).toBeUndefined();
    expect(states.map(({ specs }) => specs.get(A))).toEqual([sha(spec("a", 2)), sha(spec("a", 4))]);
  });

  it("a merge conflict that is called off is nothing at all", async () => {
    const { folder, gitDir, git, write, commit } = await repository();
    git("checkout", "--quiet", "-b", "topic");
    write(A, spec("a", 2));
    commit("two");
    git("checkout", "--quiet", "main");
    write(A, spec("a", 3));
    commit("three");
    const { states, tree } = await watching(folder, { gitDir });
    expect(() => git("merge", "topic")).toThrow("merge");
    tree.lookAgain();
    expect(await tree.settled(300)).toBeUndefined();
    expect(tree.hold).toMatchObject({ kind: "merge" });
    git("merge", "--abort");
    expect((await tree.settled(10_000))?.specs.get(A)).toBe(sha(spec("a", 3)));
    expect(states).toHaveLength(1);
  });
});

describe("Where events do not arrive", () => {
  const failing = (code: string) => () => {
    throw Object.assign(new Error(`${code}: no`), { code });
  };

  it("sweeps notice, and the reason names the limit", async () => {
    const project = tempProject({ [A]: spec("a") });
    const { tree, until } = await watching(project.root, { watchFolder: failing("ENOSPC") });
    expect(tree.deaf).toMatch(/fs\.inotify\.max_user_watches/);
    project.write(A, spec("a", 2));
    await until(holds(A, spec("a", 2)));
  });

  it("too many watchers or open files is told as that", async () => {
    const project = tempProject({ [A]: spec("a") });
    const { tree } = await watching(project.root, { watchFolder: failing("EMFILE") });
    expect(tree.deaf).toMatch(/fs\.inotify\.max_user_instances .*ulimit -n/);
  });

  it("a probe finds out where nothing says so", async () => {
    const project = tempProject({ [A]: spec("a") });
    const silent = { close: () => undefined, on: () => silent } as never;
    const { tree, until } = await watching(project.root, { watchFolder: () => silent });
    project.write(A, spec("a", 2));
    await until(holds(A, spec("a", 2)));
    expect(tree.deaf).toMatch(/no event arrives from .*resources/);
  });
});
