import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PiWorkflowsError } from "../../src/model/errors.ts";
import { findCommittedSpecs } from "../../src/sources/git/committed-specs.ts";
import { openCommitTree } from "../../src/sources/git/commit-tree.ts";
import { findRepository } from "../../src/sources/git/repository.ts";
import { readDirtyFiles } from "../../src/sources/git/status.ts";
import { FileFault } from "../../src/sources/text.ts";
import { loadSpecs } from "../resolver/loading.ts";
import { makeRepository } from "../sources/git/repository.ts";
import { NOTE_DEFINITION, NOTE_FILE, tempProject } from "../sources/temp-project.ts";
import { tries } from "./support/inputs.ts";

type Repository = ReturnType<typeof makeRepository>;

/** Writes an object as it is given: git's own commands would refuse most of these. */
function writeObject({ folder }: Repository, type: string, content: Uint8Array): string {
  const args = ["-C", folder, "hash-object", "-w", "-t", type, "--stdin", "--literally"];
  return execFileSync("git", args, { input: content, encoding: "utf8" }).trim();
}

const NAMES = [
  "a.resource.json",
  "\n.resource.json",
  "\u001b[2J.resource.json",
  "\u202Etxt.resource.json",
  'quote"\\\t.resource.json',
  "..",
  ".",
  ".git",
  ".GIT",
  "git~1",
  ".gitmodules",
  "__proto__",
  "node_modules",
  "-rf.resource.json",
  ":(glob)**.resource.json",
  "x".repeat(5_000),
  "",
  "a/b.resource.json",
  ".pi",
  "resources",
];
const MODES = ["100644", "100755", "120000", "160000", "40000", "100664", "0", "777777"];
const LINKS = [
  "/etc/passwd",
  "../../../../etc/passwd",
  ".",
  "a.resource.json",
  ".git/config",
  "\0",
  "x\n",
];

const entry = fc.record({
  name: fc.oneof(
    fc.constantFrom(...NAMES).map((name) => Buffer.from(name)),
    fc.uint8Array({ minLength: 1, maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
  ),
  mode: fc.constantFrom(...MODES),
  what: fc.nat(9),
});

/** What only reads may do with any tree: answer, or refuse in a way that callers know. */
async function refusesOrGives<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (thrown) {
    if (!(thrown instanceof PiWorkflowsError) && !(thrown instanceof FileFault)) throw thrown;
    return undefined;
  }
}

describe("a commit with any contents", () => {
  it("is read, or refused with a code", async () => {
    const repository = makeRepository();
    const blob = writeObject(repository, "blob", Buffer.from('{"resourceManager":"note"}'));
    const links = LINKS.map((target) => writeObject(repository, "blob", Buffer.from(target)));
    const missing = "1".repeat(40);
    let inner = writeObject(repository, "tree", Buffer.alloc(0));
    const found = (await findRepository(repository.folder)) as { gitDir: string };
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 6 }), fc.boolean(), async (entries, cut) => {
        const oids = [blob, inner, missing, ...links];
        const tree = Buffer.concat(
          entries.map(({ name, mode, what }) => {
            const oid = Buffer.from(oids[what % oids.length] as string, "hex");
            return Buffer.concat([Buffer.from(`${mode} `), name, Buffer.from([0]), oid]);
          }),
        );
        const oid = writeObject(repository, "tree", cut ? tree.subarray(0, -3) : tree);
        if (!cut) inner = oid;
        const text = `tree ${oid}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nm\n`;
        const commit = writeObject(repository, "commit", Buffer.from(text));
        await refusesOrGives(() => findCommittedSpecs(found, commit, ["."]));
        await refusesOrGives(() => findCommittedSpecs(found, commit, [".pi/resources"]));
        const opened = await refusesOrGives(() => openCommitTree(found, commit));
        if (opened === undefined) return;
        try {
          for (const name of ["a.resource.json", ".pi/resources", "..", "__proto__"]) {
            await refusesOrGives(() => opened.locate(name));
          }
        } finally {
          await opened.close();
        }
      }),
      tries(40),
    );
  });

  it("does not have git start a program of the repository's", async () => {
    const repository = makeRepository();
    repository.write("a.resource.json", "{}");
    repository.commit("one");
    const ran = path.join(repository.folder, "ran");
    const hook = path.join(repository.folder, ".git/watcher.sh");
    writeFileSync(hook, `#!/bin/sh\ntouch '${ran}'\n`, { mode: 0o755 });
    repository.git("config", "core.fsmonitor", hook);
    await readDirtyFiles(repository.folder, []);
    expect(existsSync(ran)).toBe(false);
    // Else it would prove nothing.
    repository.git("status");
    expect(existsSync(ran)).toBe(true);
  });

  it("of a hundred megabytes is passed over", async () => {
    const project = tempProject({ [NOTE_FILE]: NOTE_DEFINITION });
    const git = (...args: string[]) =>
      execFileSync(
        "git",
        ["-C", project.root, "-c", "user.name=a", "-c", "user.email=a@b", ...args],
        {
          encoding: "utf8",
        },
      ).trim();
    git("init", "--quiet");
    project.write("big.resource.json", " ".repeat(100 << 20));
    git("add", "--all");
    git("commit", "--quiet", "--message", "big");
    const revision = { gitDir: path.join(project.root, ".git"), commit: git("rev-parse", "HEAD") };
    const { problems, desired } = await loadSpecs(project, ["big.resource.json"], { revision });
    expect(desired).toEqual([]);
    expect(problems.map(({ message }) => message).join()).toMatch(/at most/);
  });
});
