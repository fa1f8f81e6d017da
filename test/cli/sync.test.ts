import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { rowsOf } from "../../src/cli/screen.ts";
import { buildCommandLine, COUNTER, makeWorkspace } from "./command-line.ts";

beforeAll(buildCommandLine);

const specFile = (name: string) => `.pi/resources/${name}.resource.json`;
const specOf = (key: string, value: number) =>
  `${JSON.stringify({ resourceManager: "counter", key, spec: { value } }, null, 2)}\n`;

/** A repository with a counter and what `sync` is told to follow. */
function makeRepository() {
  const workspace = makeWorkspace();
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", workspace.project, ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        ...process.env,
        GIT_CONFIG_GLOBAL: "/dev/null",
        GIT_AUTHOR_NAME: "Ada",
        GIT_AUTHOR_EMAIL: "ada@example.com",
        GIT_COMMITTER_NAME: "Ada",
        GIT_COMMITTER_EMAIL: "ada@example.com",
      },
    }).trim();
  return {
    ...workspace,
    git,
    commit: (message: string) => {
      git("add", "--all");
      git("commit", "--quiet", "--message", message);
      return git("rev-parse", "HEAD");
    },
  };
}

describe("sync, from enabling to undoing", () => {
  const repository = makeRepository();
  const { ok, run, git, write, commit } = repository;
  const names = () => ok(["get", "-o", "name"]);

  it("is not on by itself, and says how to turn it on", async () => {
    git("init", "--quiet", "--initial-branch=main");
    write(".pi/resource-managers/counter.resource-manager.ts", COUNTER);
    for (const name of ["a", "b", "c", "d", "e"]) write(specFile(name), specOf(name, 1));
    commit("five specs");
    const status = await run(["sync", "status"]);
    expect(status).toMatchObject({ code: 0, stdout: "" });
    expect(status.stderr).toContain("pi-workflows sync enable");
    expect((await run(["sync", "now"])).stderr).toContain("hint:");
  });

  it("is enabled for the branch that is checked out, and applies what is committed", async () => {
    const text = await ok(["sync", "enable"]);
    expect(text).toContain("commits of branch main, .pi/resources");
    expect(text).toContain("Ada: five specs");
    expect(await names()).toBe("counter/a\ncounter/b\ncounter/c\ncounter/d\ncounter/e\n");
  });

  it("A-13: follows a commit, and get, blame and history name it", async () => {
    write(specFile("a"), specOf("a", 2));
    const head = commit("a is 2");
    await ok(["sync", "now"]);
    expect(await ok(["get", "-o", "wide"])).toContain(`${specFile("a")}:1 @ ${head.slice(0, 7)}`);
    const blamed = await ok(["blame", "counter", "a"]);
    expect(blamed).toMatch(new RegExp(`spec\\.value +2 +2 .*@ ${head.slice(0, 7)} +Ada `));
    expect(await ok(["history", "counter", "a"])).toContain(head.slice(0, 7));
  });

  it("A-12: does not look at another branch that is checked out", async () => {
    git("checkout", "--quiet", "-b", "side");
    write(specFile("a"), specOf("a", 99));
    commit("on the side");
    await ok(["sync", "now"]);
    expect(await ok(["blame", "counter", "a"])).not.toContain("99");
    git("checkout", "--quiet", "main");
  });

  it("A-3: keeps the last good spec of a broken file, and names the place", async () => {
    write(specFile("b"), '{ "resourceManager": "counter", ');
    commit("broken");
    const broken = await ok(["sync", "now"], { code: 1 });
    expect(broken).toMatch(/SourceValid +False/);
    expect(broken).toMatch(/Problems\n {2}\.pi\/resources\/b\.resource\.json:\d+:\d+: /);
    expect(await names()).toContain("counter/b\n");
    git("revert", "--no-edit", "HEAD");
    expect(await ok(["sync", "now"])).toMatch(/Synced +True/);
  });

  it("A-6: holds a large prune, lists it with its reasons, and deletes that very set once confirmed", async () => {
    for (const name of ["a", "b", "c", "d"]) rmSync(path.join(repository.project, specFile(name)));
    const head = commit("four are gone");
    const held = await ok(["sync", "now"], { code: 3 });
    expect(held).toContain(`counter a: ${specFile("a")} was removed by ${head.slice(0, 7)}`);
    expect(await names()).toContain("counter/a\n");
    const hash = /confirm-prune ([0-9a-f]{12})/.exec(held)?.[1] as string;
    expect((await run(["sync", "confirm-prune", "0".repeat(12)])).code).toBe(3);
    await ok(["sync", "confirm-prune", hash]);
    expect(await names()).toBe("counter/e\n");
    const prunes = await ok(["sync", "prunes"]);
    expect(prunes).toContain("confirmed by");
    expect(prunes).toContain("counter d");
  });

  it("compares revisions with the store and with each other, without a checkout", async () => {
    write(specFile("e"), "not even JSON, and in nobody's way");
    expect(await ok(["diff", "--rev", "main"])).toContain("1 unchanged");
    const between = await ok(["diff", "--rev", "main~1..side"], { code: 1 });
    expect(between).toMatch(/~ update +counter a +spec\.value changed/);
    expect(await ok(["diff", "--rev", "main~1..main"], { code: 1 })).toContain("4 to prune");
    expect((await run(["diff", "--rev", "nowhere"])).stderr).toContain(
      "git knows no commit nowhere",
    );
    git("checkout", "--quiet", ".");
  });

  it("shows what sync would do with the files as they are, once and as they are saved", async () => {
    write(specFile("e"), specOf("e", 7));
    expect(await ok(["diff"], { code: 1 })).toMatch(/~ update +counter e +spec\.value changed/);
    const outcome = await run(["diff", "--watch"], {
      onOutput: (text, child) => {
        if (text.includes("~ update") && !text.includes("+ create"))
          write(specFile("f"), specOf("f", 1));
        if (text.includes("+ create")) child.kill("SIGINT");
      },
    });
    expect(outcome).toMatchObject({ code: 130 });
    expect(outcome.stdout).toMatch(/\+ create +counter f +is new/);
    rmSync(path.join(repository.project, specFile("f")));
    git("checkout", "--quiet", ".");
  });

  it("brings a pruned resource back", async () => {
    const why = await run(["why", "counter", "a"]);
    expect(why.stderr).toMatch(
      /^error\[NOT_FOUND\]: counter a was deleted .+, by sync set default \(.+\)\n/,
    );
    expect(why.stderr).toContain("`pi-workflows undelete counter a`");
    expect(await ok(["history", "counter", "a"])).toMatch(/^GENERATION[^]*sync set default/);
    expect(await ok(["undelete", "counter", "a"])).toMatch(/^counter a is back as /);
    expect(await names()).toContain("counter/a\n");
    expect((await run(["undelete", "counter", "nothing"])).stderr).toContain("error[NOT_FOUND]");
  });

  it("is suspended, resumed and disabled; status needs no server", async () => {
    expect(await ok(["sync", "suspend"])).toContain("suspended");
    write(specFile("e"), specOf("e", 5));
    commit("while suspended");
    await run(["sync", "now"]);
    expect(await ok(["blame", "counter", "e"])).toMatch(/spec\.value +1 /);
    await ok(["sync", "resume"]);
    await ok(["sync", "now"]);
    expect(await ok(["blame", "counter", "e"])).toMatch(/spec\.value +5 /);
    await ok(["server", "stop"]);
    expect((await run(["sync", "status"])).stderr).toContain("No server is running");
    await ok(["sync", "disable"]);
    expect((await run(["sync", "status"])).stderr).toContain("not enabled");
    expect(await names()).toContain("counter/e\n");
  });
});

it("counts the rows that a text takes on a terminal, wrapped lines and colours included", () => {
  expect(rowsOf("one\ntwo")).toBe(2);
  expect(rowsOf("")).toBe(1);
  expect(rowsOf("x".repeat(81), 80)).toBe(2);
  expect(rowsOf(`\u001b[31m${"x".repeat(80)}\u001b[39m`, 80)).toBe(1);
});
