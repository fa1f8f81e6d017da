import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, vi } from "vitest";
import { describeCommit, readProvenance } from "../../src/cli/provenance.ts";
import { changedFiles, listTree, readCommit } from "../../src/sources/git/commits.ts";
import { openObjects } from "../../src/sources/git/objects.ts";
import { findRepository, git, type Repository } from "../../src/sources/git/repository.ts";
import { newestCommits } from "../../src/server/sync/file-commits.ts";
import { readCheckout } from "../../src/server/sync/checkout.ts";
import { makeRepository } from "../sources/git/repository.ts";

type Made = ReturnType<typeof makeRepository>;

/** A repository in which everything by which git starts programs names one that leaves a mark. */
function trapped(): Made & { hasRun: () => boolean; trap: string } {
  const made = makeRepository();
  const ran = path.join(made.folder, ".git/ran");
  const trap = path.join(made.folder, ".git/trap.sh");
  writeFileSync(trap, `#!/bin/sh\ntouch '${ran}'\nexit 0\n`, { mode: 0o755 });
  made.write("a.resource.json", "{}");
  made.write("b.resource.json", "{}");
  made.write(".gitattributes", "*.json filter=a=b diff=a=b\n");
  made.commit("one");
  made.write("b.resource.json", "{} ");
  made.commit("two");
  made.git("update-ref", "HEAD", signed(made));
  return { ...made, trap, hasRun: () => existsSync(ran) };
}

/** A commit with a signature, which git would have a program check. */
function signed({ folder, git: own }: Made): string {
  const [headers, message] = own("cat-file", "commit", "HEAD").split("\n\n");
  const signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n aGk=\n -----END PGP SIGNATURE-----";
  const args = ["-C", folder, "hash-object", "-w", "-t", "commit", "--stdin"];
  const input = `${headers}\n${signature}\n\n${message}\n`;
  return execFileSync("git", args, { input, encoding: "utf8" }).trim();
}

const SETTINGS = (trap: string): [string, string][] => [
  ["core.fsmonitor", trap],
  ["core.hooksPath", path.dirname(trap)],
  ["core.pager", trap],
  ["core.editor", trap],
  ["core.sshCommand", trap],
  ["core.gitProxy", trap],
  ["core.askPass", trap],
  ["core.alternateRefsCommand", trap],
  ["credential.helper", `!${trap}`],
  ["diff.external", trap],
  ["diff.a=b.textconv", trap],
  ["diff.a=b.command", trap],
  ["filter.a=b.clean", trap],
  ["filter.a=b.smudge", trap],
  ["filter.a=b.required", "true"],
  ["log.showSignature", "true"],
  ["gpg.program", trap],
  ["gpg.ssh.program", trap],
  ["gpg.ssh.defaultKeyCommand", trap],
  ["interactive.diffFilter", trap],
  ["pager.log", trap],
  ["pager.status", trap],
  ["protocol.allow", "always"],
  ["protocol.ext.allow", "always"],
  ["remote.origin.url", `ext::${trap} %S`],
  ["remote.origin.promisor", "true"],
  ["remote.origin.partialclonefilter", "blob:none"],
  ["extensions.partialClone", "origin"],
  ["core.repositoryFormatVersion", "1"],
  ["status.submoduleSummary", "true"],
];

/** All that we ask of git, of a repository that somebody only looks at. */
async function lookAtEverything(folder: string): Promise<Repository> {
  const repository = (await findRepository(folder)) as Repository;
  const objects = openObjects(repository);
  const newest = await readCommit(objects, "HEAD");
  await objects.read("1".repeat(40));
  await objects.close();
  await listTree(repository, "HEAD", []);
  await listTree(repository, "2".repeat(40), []).catch(() => undefined);
  await changedFiles(repository, ["HEAD~1", "HEAD"], []);
  await newestCommits(repository, ["a.resource.json"], { commits: "HEAD", what: "changed" });
  await describeCommit(folder, newest?.oid ?? "HEAD");
  await readProvenance(folder, ["a.resource.json"]);
  await readCheckout(repository, ["."]);
  await git(folder, ["rev-parse", "--verify", "HEAD^{commit}"]);
  return repository;
}

describe("looking at a repository", () => {
  it("has git start no program that its settings name", async () => {
    const { folder, git: own, trap, hasRun, write } = trapped();
    for (const [name, value] of SETTINGS(trap)) own("config", name, value);
    // Of the same size and another time, so that git has to compare the contents.
    write("a.resource.json", "[]");
    await lookAtEverything(folder);
    expect(hasRun()).toBe(false);
    expect((await readProvenance(folder, [])).isDirty("a.resource.json")).toBe(true);
  });

  // Else the test above would prove nothing.
  it.each([
    ["core.fsmonitor", ["status"]],
    ["filter.a=b.clean", ["status"]],
    ["diff.external", ["diff"]],
    ["gpg.program", ["log", "--show-signature"]],
    ["remote.origin.url", ["cat-file", "-p", "1".repeat(40)]],
  ])("of a person's own git, %s does start one", (name, args) => {
    const { folder, git: own, trap, hasRun, write } = trapped();
    const needed = /^(?:protocol|remote|extensions|core.repositoryFormat)/;
    for (const [key, value] of SETTINGS(trap)) {
      if (key === name || (needed.test(key) && needed.test(name))) own("config", key, value);
    }
    write("a.resource.json", "[]");
    try {
      execFileSync("git", ["-C", folder, ...args], { stdio: "ignore" });
    } catch {
      // What it comes to is not the matter.
    }
    expect(hasRun()).toBe(true);
  });

  it("does not take files of a commit for a repository, whatever they look like", async () => {
    const { folder } = makeRepository();
    const inner = path.join(folder, "specs");
    execFileSync("git", ["init", "--quiet", "--bare", inner]);
    const ran = path.join(folder, "ran");
    const trap = path.join(folder, "trap.sh");
    writeFileSync(trap, `#!/bin/sh\ntouch '${ran}'\n`);
    chmodSync(trap, 0o755);
    mkdirSync(path.join(inner, "work"));
    const set = (name: string, value: string) =>
      execFileSync("git", ["-C", inner, "config", name, value]);
    set("core.bare", "false");
    set("core.worktree", path.join(inner, "work"));
    set("core.fsmonitor", trap);
    await expect(findRepository(inner)).rejects.toMatchObject({ code: "GIT_FAILED" });
    expect(existsSync(ran)).toBe(false);
  });

  it("gives git no credential, and no other repository, of the environment", async () => {
    const { folder, commit } = makeRepository();
    commit("one");
    commit("two");
    const shown = path.join(folder, "environment");
    const program = path.join(folder, "git");
    writeFileSync(program, `#!/bin/sh\nenv > '${shown}.'$$\nexec ${realGit()} "$@"\n`, {
      mode: 0o755,
    });
    vi.stubEnv("PATH", `${folder}${path.delimiter}${process.env["PATH"]}`);
    vi.stubEnv("GITHUB_TOKEN", "a-planted-token");
    vi.stubEnv("GIT_DIR", "/nowhere");
    vi.stubEnv("GIT_EXTERNAL_DIFF", "/nowhere");
    vi.stubEnv("GIT_SSH_COMMAND", "/nowhere");
    await lookAtEverything(folder);
    vi.unstubAllEnvs();
    const all = execFileSync("sh", ["-c", `cat '${shown}'.*`], { encoding: "utf8" });
    expect(all).toContain("GIT_ALLOW_PROTOCOL=none");
    expect(all).not.toContain("a-planted-token");
    expect(all).not.toContain("/nowhere");
  });
});

function realGit(): string {
  return execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();
}
