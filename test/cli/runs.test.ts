import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { StoredRun } from "../../src/model/run.ts";
import { buildCommandLine, makeWorkspace, type Workspace } from "./command-line.ts";
import { RELEASE } from "./release-workflow.ts";

const FILE = ".pi/workflows/release.workflow.ts";
const INPUT = ["--input", '{"version": "1.2"}'];

const STARTED = /^release (\w{8}) started$/m;

beforeAll(buildCommandLine);

/** Starts a run, waits until it asks or ends, and returns the id that people see. */
async function started({ run }: Workspace, ...more: string[]): Promise<string> {
  const { stderr } = await run(["run", "start", "release", ...INPUT, "--wait", ...more]);
  expect(stderr).toMatch(STARTED);
  return STARTED.exec(stderr)?.[1] ?? "";
}

describe("a run, from its start to its end", () => {
  const workspace = makeWorkspace();
  const { ok, json, run, write } = workspace;
  beforeAll(() => write(FILE, RELEASE));
  let id = "";

  it("is not started where its input or its workflow is wrong, and the error says where", async () => {
    const missing = await run(["run", "start", "release", "--input", '{"version": 1}']);
    expect(missing).toMatchObject({ code: 2, stdout: "" });
    expect(missing.stderr).toContain(
      "error[INVALID_INPUT]: the input of release is not valid: input.version: must be a string, not 1",
    );
    expect(missing.stderr).toContain(`--input '{"version":"…"}'`);
    const misspelt = await run(["run", "start", "relaese"]);
    expect(misspelt.stderr).toContain("error[UNKNOWN_WORKFLOW]");
    expect(misspelt.stderr).toContain('did you mean "release"?');
    const noJson = await run(["run", "start", "release", "--input", "{version: 1}"]);
    expect(noJson.stderr).toContain("error[USAGE]: the input is no JSON");
    write(".pi/workflows/broken.workflow.ts", "export default 3;\n");
    const broken = await run(["run", "start", "broken"]);
    expect(broken.stderr).toContain("error[INVALID_DEFINITION]: workflows have 1 problem");
    expect(broken.stderr).toContain(".pi/workflows/broken.workflow.ts:");
    expect(await ok(["runs"])).toBe("");
  });

  it("shows each node as it ends, then the question with the command that answers it", async () => {
    const outcome = await run(["run", "start", "release", ...INPUT, "--wait"]);
    expect(outcome.code).toBe(3);
    [, id = ""] = STARTED.exec(outcome.stderr) ?? [];
    expect(outcome.stderr).toMatch(/^ {2}succeeded {2}plan +\S+\n {2}succeeded {2}build/m);
    expect(outcome.stdout).toBe(
      `release ${id} waiting (Checkpoint)\n` +
        `Now: ask asks: release 1.2?\n     Answer with \`pi-workflows run answer ${id} yes\`, or with no.\n`,
    );
  });

  it("is listed, with its state and the node that it is at", async () => {
    expect(await ok(["runs"])).toMatch(
      new RegExp(`^RUN +WORKFLOW +STATE +NODE .*\\n${id} +release +waiting \\(Checkpoint\\) +ask `),
    );
    expect(await ok(["runs", "--state", "failed"])).toBe("");
    expect(await ok(["runs", "--workflow", "release", "--open", "-A"])).toContain(id);
  });

  it("is found by any beginning or end of its id", async () => {
    const { runs } = await json<{ runs: StoredRun[] }>(["runs"]);
    const { runId } = runs[0] as StoredRun;
    for (const typed of [
      runId,
      runId.slice(0, 13),
      id,
      id.slice(0, 4),
      runId.slice(-5),
      id.toUpperCase(),
    ]) {
      expect(await ok(["run", "show", typed])).toContain(runId);
    }
    const unknown = await run(["run", "show", "ffff0000ffff"]);
    expect(unknown.stderr).toContain("error[NOT_FOUND]: there is no run ffff0000ffff");
    expect(unknown.stderr).toContain(`The newest here: ${id} (release).`);
    expect((await run(["run", "show", "x1"])).stderr).toContain(
      'error[USAGE]: "x1" is no id of a run',
    );
  });

  it("says on its lines what its nodes said, without colours", async () => {
    expect(await ok(["run", "logs", id])).toBe("build  building\nbuild  red\n");
    expect(await ok(["run", "logs", id, "--node", "plan"])).toBe("");
    const wrong = await run(["run", "logs", id, "--node", "biuld"]);
    expect(wrong.stderr).toContain("release has no node biuld");
  });

  it("takes an answer in a word, and refuses one that does not fit", async () => {
    const missing = await run(["run", "answer", id]);
    expect(missing.stderr).toContain("It asks: release 1.2? Answer with yes or no.");
    expect((await run(["run", "answer", id, "maybe"])).stderr).toContain("Answer with yes or no.");
    const torn = await run(["run", "answer", id, '{"ok": tru}']);
    expect(torn.stderr).toMatch(/the answer is no JSON: .*\nhint: .*Answer with yes or no\./);
    const wrong = await run(["run", "answer", id, '{"ok": "yes"}']);
    expect(wrong.stderr).toContain("answer.ok: must be a boolean");
    expect(await ok(["run", "answer", id, "yes"])).toBe(
      `release ${id}: ask is answered with {"ok":true}\n`,
    );
    // What was answered is no question any more, though no runner has come to it yet.
    expect(await ok(["run", "wait", id], { code: 3 })).toContain(
      `announce asks: Announce it where?\n     Answer with \`pi-workflows run answer ${id} everywhere\`, or with nowhere.`,
    );
  });

  it("ends with its output", async () => {
    await ok(["run", "answer", id, "everywhere"]);
    const text = await ok(["run", "wait", id]);
    expect(text).toMatch(/^release \w+ succeeded in \S+ by exit done\n/);
    expect(text).toContain('"announced": "everywhere"');
    const show = await ok(["run", "show", id, "--outputs", "--inputs"]);
    expect(show).toMatch(/good +decision +succeeded → yes/);
    expect(show).toMatch(/publish +action +succeeded/);
    expect(show).toContain('output {"id":7}');
    expect(show).toMatch(/ask +checkpoint .*\n +by \w+/);
    const again = await run(["run", "answer", id, "everywhere"]);
    expect(again.stderr).toContain("error[NO_QUESTION]");
    expect(again.stderr).toMatch(/^hint: It has succeeded: `pi-workflows run show \w{8}`\.$/m);
  });

  it("is one run, however often it is asked for under one key", async () => {
    const start = ["run", "start", "release", ...INPUT, "--request-key", "nightly"];
    const first = await json<{ run: StoredRun }>(start);
    const second = await json<{ run: StoredRun }>(start);
    expect(second.run.runId).toBe(first.run.runId);
    const other = await run([
      ...start.slice(0, 3),
      "--input",
      '{"version": "2"}',
      "--request-key",
      "nightly",
    ]);
    expect(other.stderr).toContain("error[RUN_CONFLICT]");
  });

  it("goes on without whoever waited for it, be it that Ctrl-C ended that", async () => {
    write("hold", "");
    let interrupted = false;
    const left = await run(["run", "start", "release", ...INPUT, "--wait"], {
      onTalk(text, child) {
        if (interrupted || !text.includes("succeeded  plan")) return;
        // A second one would end it at once.
        interrupted = child.kill("SIGINT");
      },
    });
    const held = STARTED.exec(left.stderr)?.[1] ?? "";
    expect(left.code).toBe(130);
    expect(left.stderr).toContain(
      `Run ${held} goes on. See it with \`pi-workflows run show ${held}\``,
    );
    let followed = false;
    const logs = run(["run", "logs", held, "-f"], {
      onOutput(text) {
        if (followed || !text.includes("build  building")) return;
        followed = true;
        rmSync(path.join(workspace.project, "hold"));
        void run(["run", "answer", held, "no", "--node", "ask"]);
      },
    });
    expect(await logs).toMatchObject({ code: 0, stdout: "build  building\nbuild  red\n" });
    expect(await ok(["run", "wait", held])).toContain("by exit refused");
  });

  it("is watched in the list, each change when it comes", async () => {
    let asked = false;
    const watched = await run(["runs", "-w", "--workflow", "release"], {
      onOutput(text, child) {
        if (!asked) void run(["run", "start", "release", ...INPUT, "--request-key", "watched"]);
        asked = true;
        if (/ waiting \(Checkpoint\) +ask +\d+ms/.test(text)) child.kill("SIGINT");
      },
    });
    expect(watched.code).toBe(130);
    expect(watched.stdout).toMatch(/^RUN +WORKFLOW +STATE/);
  });

  it("is offered by the shell, by the id that lists show", async () => {
    expect(await ok(["__complete", "--", "run", "show", ""])).toContain(
      `${id}\trelease, succeeded\n`,
    );
    expect(await ok(["__complete", "--", "run", "start", "rel"])).toBe("release\t\n");
    expect(await ok(["__complete", "--", "run", "logs", id, "--node", ""])).toBe("");
  });

  it("goes on when the server was killed, and a wait says how to wait on", async () => {
    write("hold", "");
    const { pid } = await json<{ pid: number }>(["server", "status"]);
    let killed = false;
    const left = await run(["run", "start", "release", ...INPUT, "--wait"], {
      onTalk(text) {
        if (killed || !text.includes("succeeded  plan")) return;
        killed = process.kill(pid, "SIGKILL");
      },
    });
    expect(left.code).toBe(5);
    const held = STARTED.exec(left.stderr)?.[1] ?? "";
    expect(left.stderr).toContain(`\`pi-workflows run wait ${held}\` starts it and waits on`);
    expect(await ok(["run", "show", held])).toContain("It was at build when its server ended.");
    rmSync(path.join(workspace.project, "hold"));
    expect(await ok(["run", "wait", held], { code: 3 })).toContain("ask asks");
    expect(await ok(["run", "show", held])).toMatch(/build .*\n +attempt 1 lost\n/);
  });

  it("goes on when a wait for it times out", async () => {
    const waited = await run(["run", "start", "release", ...INPUT, "--timeout", "1ms"]);
    expect(waited.code).toBe(4);
    expect(waited.stderr).toContain("error[WAIT_TIMEOUT]");
    expect(waited.stderr).toMatch(/It goes on: `pi-workflows run show \w{8}`/);
  });
});

describe("a run that goes wrong, or is steered", () => {
  const workspace = makeWorkspace();
  const { ok, run, write, read, project } = workspace;
  beforeAll(() => write(FILE, RELEASE));
  const remove = (file: string) => rmSync(path.join(project, file), { force: true });

  it("exits 1 where a node failed, says which and why, and is tried again with today's code", async () => {
    write("broken", "");
    const failed = await run(["run", "start", "release", ...INPUT, "--wait"]);
    expect(failed.code).toBe(1);
    const [, id = ""] = /^release (\w{8}) failed \(NodeFailed\)/.exec(failed.stdout) ?? [];
    expect(failed.stdout).toContain("build failed");
    expect(failed.stdout).toContain(`\`pi-workflows run retry ${id}\``);
    expect(failed.stderr).toMatch(/^ {2}failed {5}build /m);
    write(FILE, RELEASE.replace("test ! -e broken", "true"));
    const text = await ok(["run", "retry", id]);
    const [, next = ""] = /^release (\w{8}) started: attempt 2, after \w{8}\n$/.exec(text) ?? [];
    expect(await ok(["run", "wait", next], { code: 3 })).toContain("ask asks");
    expect(await ok(["run", "show", id])).toContain(`1; tried again as ${next}\n`);
    expect(await ok(["run", "show", next])).toContain(`2, after ${id}\n`);
    expect(await workspace.json(["run", "show", id])).toMatchObject({
      attempts: [{ attempt: 1 }, { attempt: 2 }],
    });
    expect((await run(["run", "retry", next])).stderr).toContain("error[RUN_NOT_FAILED]");
    remove("broken");
    write(FILE, RELEASE);
  });

  it("is undone when it is cancelled, and says so", async () => {
    const id = await started(workspace);
    await ok(["run", "answer", id, "yes"]);
    expect(await ok(["run", "wait", id], { code: 3 })).toContain("announce asks");
    expect(await ok(["run", "cancel", id])).toContain("is being cancelled");
    expect(await ok(["run", "wait", id], { code: 1 })).toContain("failed (Cancelled)");
    expect(read("unpublished")).toBe("yes");
    expect(await ok(["run", "show", id])).toMatch(
      /publish +action +succeeded .*\n +undo succeeded/,
    );
    expect((await run(["run", "pause", id])).stderr).toContain("error[RUN_ENDED]");
  });

  it("is paused and goes on", async () => {
    const id = await started(workspace);
    expect(await ok(["run", "pause", id])).toContain(`release ${id} is paused`);
    await ok(["run", "answer", id, "no"]);
    expect(await ok(["run", "show", id])).toContain(`\`pi-workflows run resume ${id}\``);
    expect(await ok(["run", "resume", id])).toBe(`release ${id} goes on\n`);
    expect(await ok(["run", "wait", id])).toContain("by exit refused");
  });

  it("is ambiguous where its runner was killed in a manual action, and a person resolves it", async () => {
    write("crash", "");
    const id = await started(workspace);
    await ok(["run", "answer", id, "yes"]);
    const { code, stdout } = await run(["run", "wait", id]);
    expect(code).toBe(3);
    expect(stdout).toContain("interrupted (Ambiguous)");
    expect(stdout).toContain("It can't be told whether publish was done");
    expect(stdout).toContain(`\`pi-workflows run resolve ${id} --succeeded\``);
    expect((await run(["run", "resolve", id])).stderr).toContain(
      "say --succeeded, --failed MESSAGE or --retry",
    );
    const wrong = await run(["run", "resolve", id, "--succeeded", "--value", '{"id": "x"}']);
    expect(wrong.stderr).toContain("error[INVALID_INPUT]");
    await ok(["run", "resolve", id, "--succeeded", "--value", '{"id": 9}']);
    expect(await ok(["run", "wait", id], { code: 3 })).toContain("announce asks");
    expect(await ok(["run", "show", id, "--outputs"])).toContain('output {"id":9}');
    remove("crash");
  });

  it("keeps the code with which it began, and says how to go on with it", async () => {
    const id = await started(workspace);
    write(FILE, RELEASE.replace("Announce it where?", "Announce?"));
    await started(workspace);
    await ok(["run", "answer", id, "yes"]);
    const parked = await ok(["run", "wait", id], { code: 3 });
    expect(parked).toContain("interrupted (DefinitionChanged)");
    expect(parked).toContain(`\`pi-workflows run resume ${id}\``);
    await ok(["run", "resume", id]);
    expect(await ok(["run", "wait", id], { code: 3 })).toContain("Announce it where?");
  });

  it("shows no secret of its input, wherever that stands, unless asked", async () => {
    const secret = "sesame-open";
    const input = JSON.stringify({ version: "3", token: secret });
    const id = await started(workspace, "--input", input);
    await ok(["run", "answer", id, "yes"]);
    await ok(["run", "wait", id], { code: 3 });
    const texts = [
      await ok(["run", "show", id, "--inputs", "--outputs"]),
      await ok(["run", "show", id, "--inputs", "-o", "json"]),
      await ok(["run", "logs", id]),
      await ok(["run", "logs", id, "-o", "json"]),
    ];
    expect(texts[2]).toContain("publishing with");
    for (const text of texts) expect(text).not.toContain(secret);
    expect(await ok(["run", "show", id, "--inputs", "--show-secrets"])).toContain(secret);
  });
});

describe("a run of a project whose sync follows a branch", () => {
  const workspace = makeWorkspace();
  const { ok, write, project } = workspace;
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", project, "-c", "user.name=Ada", "-c", "user.email=a@b.c", ...args], {
      stdio: "pipe",
    });
  const commit = () => {
    git("add", "--all");
    git("commit", "--quiet", "--message", "workflow");
  };

  it("is tried again with the code of its commits, not with what is being edited", async () => {
    write(FILE, RELEASE.replace("test ! -e broken", "false"));
    write(".pi/resources/.gitkeep", "");
    git("init", "--quiet", "--initial-branch=main");
    commit();
    await ok(["sync", "enable"]);
    await ok(["sync", "now"]);
    const first = await started(workspace);
    write(FILE, RELEASE);
    const retry = async (id: string) =>
      /^release (\w{8})/.exec(await ok(["run", "retry", id]))?.[1] ?? "";
    const second = await retry(first);
    expect(await ok(["run", "wait", second], { code: 1 })).toContain("build failed");
    commit();
    await ok(["sync", "now"]);
    const third = await retry(second);
    expect(await ok(["run", "wait", third], { code: 3 })).toContain("ask asks");
  });
});
