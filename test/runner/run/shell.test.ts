import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LIMITS } from "../../../src/model/limits.ts";
import { shell, type ShellResult } from "../../../src/workflows/index.ts";
import { alive, until } from "../support/processes.ts";
import { run, start } from "./support/run.ts";
import { chain } from "./support/workflow.ts";

let folder: string;
beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), "pi-workflows-shell-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const inFolder = () => ({ pass: { project: folder } });

async function outputOf(node: ReturnType<typeof shell>): Promise<unknown> {
  const { outcome } = await run(chain({ node }), inFolder());
  return (outcome as { ending?: { output?: unknown } }).ending?.output ?? outcome;
}

/** The number that a command wrote into a file of the folder, once it has. */
async function pidIn(name: string): Promise<number> {
  const file = path.join(folder, name);
  const read = (): string => {
    try {
      return readFileSync(file, "utf8");
    } catch {
      return "";
    }
  };
  await until(() => read().endsWith("\n"));
  return Number(read());
}

describe("a command", () => {
  it("gets its arguments as they are, no input, its own environment, and the project as its folder", async () => {
    const program = `process.stdin.on("data", () => {}).on("end", () => console.log(JSON.stringify([
      process.argv.slice(1), process.cwd(), process.env.EXTRA, process.env.HOME === ${JSON.stringify(process.env["HOME"])}])))`;
    const node = shell({
      command: [process.execPath, "-e", program, "a b", "$HOME; echo *"],
      env: { EXTRA: "more" },
      parse: ({ stdout }) => JSON.parse(stdout) as unknown,
    });
    expect(await outputOf(node)).toEqual([["a b", "$HOME; echo *"], folder, "more", true]);
  });

  it("of a shell is one line for it", async () => {
    const node = shell({
      shell: "echo out; echo err >&2; printf '%s' \"$V\" | tr a-z A-Z",
      env: { V: "loud" },
    });
    expect(await outputOf(node)).toEqual({
      exitCode: 0,
      stdout: "out\nLOUD",
      stderr: "err\n",
      isCut: false,
    });
  });

  it("runs in the folder that it names, below the project", async () => {
    const node = shell({
      shell: "mkdir -p sub && cd sub && pwd",
      parse: ({ stdout }) => stdout.trim(),
    });
    expect(await outputOf(node)).toBe(path.join(folder, "sub"));
    const below = shell({ command: ["pwd"], cwd: "sub", parse: ({ stdout }) => stdout.trim() });
    expect(await outputOf(below)).toBe(path.join(folder, "sub"));
  });

  it.each<[string, Parameters<typeof shell>[0], RegExp]>([
    [
      "exits with another code",
      { shell: "echo why >&2; exit 3" },
      /\/bin\/sh exited with code 3: why/,
    ],
    [
      "is not there",
      { command: ["no-such-program-here"] },
      /no-such-program-here could not be started: there is no such program/,
    ],
    ["has no folder", { command: ["true"], cwd: "nowhere" }, /there is no folder .*nowhere/],
    ["is killed", { shell: "kill -9 $$" }, /ended by SIGKILL/],
    ["is no list of texts", { command: () => [] }, /the program first/],
  ])("that %s is a failure that says so", async (_what, options, message) => {
    expect(await outputOf(shell(options))).toMatchObject({
      ending: { reason: "NodeFailed", message: expect.stringMatching(message) },
    });
  });

  it("may end with the codes that its node allows", async () => {
    const node = shell({ shell: "exit 3", exitCodes: [0, 3], parse: ({ exitCode }) => exitCode });
    expect(await outputOf(node)).toBe(3);
    const any = shell({ shell: "exit 7", exitCodes: "any", parse: ({ exitCode }) => exitCode });
    expect(await outputOf(any)).toBe(7);
  });

  it("LIMITS.shellOutput: keeps so much of each stream whole, and head and tail of more", async () => {
    const print = (bytes: number) =>
      shell({
        command: [process.execPath, "-e", `process.stdout.write("a".repeat(${bytes - 3}) + "end")`],
      });
    const whole = (await outputOf(print(LIMITS.shellOutput))) as ShellResult;
    expect([whole.stdout.length, whole.isCut]).toEqual([LIMITS.shellOutput, false]);
    const cut = (await outputOf(print(LIMITS.shellOutput + 1))) as ShellResult;
    expect(cut).toMatchObject({
      isCut: true,
      stdout: expect.stringMatching(/a\n… \(1 bytes left out\)\na+end$/),
    });
  });

  it("ends its last line in the run's log, so that what others say stands on other lines", async () => {
    const tests = shell({ shell: "printf one; printf 'two\\n' >&2; printf three >&2" });
    const { host } = await run(chain({ tests }));
    expect([host.said("stdout"), host.said("stderr")]).toEqual(["one\n", "two\nthree\n"]);
  });

  it("is heard in the run's log as it speaks, with credentials masked", async () => {
    const token = `ghp_${"x".repeat(36)}`;
    const node = shell({ shell: `echo out; echo ${token} >&2` });
    const { host } = await run(chain({ node }), inFolder());
    expect([host.said("stdout"), host.said("stderr")]).toEqual(["out\n", "[redacted]\n"]);
    expect(JSON.stringify(host.entries.slice(1))).not.toContain(token);
  });
});

describe("nothing of a command outlives its node:", () => {
  it("not what it left in the background", async () => {
    const node = shell({ shell: `sleep 600 & echo $! > ${folder}/pid` });
    await outputOf(node);
    expect(alive(await pidIn("pid"))).toBe(false);
  });

  it.runIf(process.platform === "linux")("not what left its process group", async () => {
    const node = shell({
      shell: `setsid sh -c 'echo $$ > ${folder}/pid; exec sleep 600' & sleep 0.3`,
    });
    await outputOf(node);
    expect(alive(await pidIn("pid"))).toBe(false);
  });

  it("not what ignores being told to stop", async () => {
    const node = shell({
      shell: `trap '' TERM; (trap '' TERM; sleep 600) & echo $! > ${folder}/pid; sleep 600`,
      timeout: "1s",
    });
    const { outcome } = await run(chain({ node }), inFolder());
    expect(outcome).toMatchObject({
      ending: { message: "node: node node was not done within its timeout of 1000 ms" },
    });
    expect(alive(await pidIn("pid"))).toBe(false);
  });

  it("not where the pass is called off", async () => {
    const node = shell({ shell: `echo $$ > ${folder}/pid; sleep 600` });
    const { host, outcome, abort } = start(chain({ node }), inFolder());
    const pid = await pidIn("pid");
    abort("lease-lost");
    expect(await outcome).toMatchObject({ kind: "crashed", fault: "lease-lost" });
    expect(alive(pid)).toBe(false);
    expect(host.story).toEqual(["begun node"]);
  });
});
