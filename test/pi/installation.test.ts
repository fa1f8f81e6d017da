import { chmodSync, existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, type TestContext } from "vitest";
import { until } from "../runner/support/processes.ts";
import { ask, startAgents, submits } from "./support/agents.ts";
import { NEWEST_PI } from "./support/installed.ts";
import { createPiMachine, useModelProvider, type PiMachine } from "./support/machine.ts";

const pi = NEWEST_PI;

/** A program in place of Pi. */
function program({ root }: PiMachine, name: string, script: string): string {
  const file = path.join(root, name);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

function answerBy(test: TestContext, machine: PiMachine, command?: string[], limits = {}) {
  const agents = startAgents(test, machine, { limits, ...(command ? { command } : {}) });
  return ask(agents, machine).answer;
}

describe("an agent", () => {
  it("says what to install where there is no Pi", async (test) => {
    const machine = createPiMachine(test, { pi });
    const bare = { ...machine, env: { ...machine.env, PATH: "/usr/bin:/bin" } };

    expect(await answerBy(test, bare)).toEqual({
      state: "failed",
      reason: "PiMissing",
      message:
        "Pi was not found: pi is not on the PATH of the server; install it with `npm install -g @earendil-works/pi-coding-agent`",
      retryable: false,
    });
    expect(await answerBy(test, machine, ["/nowhere/pi"])).toMatchObject({
      reason: "PiMissing",
      message: expect.stringContaining("/nowhere/pi is not a program that can be run"),
    });
  });

  it("says so where the program is not Pi", async (test) => {
    const machine = createPiMachine(test, { pi });
    const other = program(machine, "other", "echo I bake cakes");

    expect(await answerBy(test, machine, [other])).toMatchObject({
      reason: "PiMissing",
      message: expect.stringContaining(`${other} is not Pi: to --version it said I bake cakes`),
    });
  });

  it("says how to update a Pi that is too old", async (test) => {
    const machine = createPiMachine(test, { pi });
    const old = program(machine, "pi", "echo 0.72.9");

    expect(await answerBy(test, machine, [old])).toEqual({
      state: "failed",
      reason: "PiTooOld",
      message: `${old} is Pi 0.72.9, and agents need 0.73.0 or newer; update it with \`pi update pi\``,
      retryable: false,
    });
  });

  it.skipIf(Number(process.versions.node.split(".")[0]) >= 22)(
    "says which Node a Pi needs that its Node can't run",
    async (test) => {
      const machine = createPiMachine(test, { pi });

      expect(await answerBy(test, machine, [process.execPath, pi.cli])).toEqual({
        state: "failed",
        reason: "NodeTooOld",
        message:
          "Pi needs Node >= 22.19, and the `node` that runs it is older; put a newer one first on the PATH of the server, and start the server again",
        retryable: false,
      });
    },
  );

  it("uses a Pi that was mended or replaced without a restart of the server", async (test) => {
    const provider = await useModelProvider(test);
    const machine = createPiMachine(test, { pi, modelUrl: provider.url });
    const file = program(machine, "pi", "echo 0.72.9");
    const agents = startAgents(test, machine, { command: [file] });
    expect(await ask(agents, machine).answer).toMatchObject({ reason: "PiTooOld" });

    program(machine, "pi", `exec "${pi.node}" "${pi.cli}" "$@"`);
    provider.queue(submits(1));
    expect(await ask(agents, machine).answer).toEqual({ state: "answered", value: 1 });
  });

  it("is closed at once while its Pi is still being looked at", async (test) => {
    const machine = createPiMachine(test, { pi });
    const asked = path.join(machine.root, "asked");
    const slow = program(machine, "pi", `touch ${asked}; exec sleep 1000`);
    const agents = startAgents(test, machine, { command: [slow] });
    const { answer } = ask(agents, machine);
    await until(() => existsSync(asked));

    await agents.close("run-1", "node");

    expect(await answer).toMatchObject({ reason: "Cancelled" });
  });

  it("tells what Pi said when it ends at its start", async (test) => {
    const machine = createPiMachine(test, { pi });
    const broken = program(
      machine,
      "pi",
      'case "$1" in --version) echo 1.6.0;; --help) ;; *) echo "settings.json is broken" >&2; exit 3;; esac',
    );

    expect(await answerBy(test, machine, [broken])).toEqual({
      state: "failed",
      reason: "PiCrashed",
      message:
        "Pi ended before the agent answered: it ended with code 3: settings.json is broken\n".trim(),
      retryable: true,
    });
  });

  it("ends a Pi that does not come up", async (test) => {
    const machine = createPiMachine(test, { pi });
    const silent = program(
      machine,
      "pi",
      'case "$1" in --version) echo 1.6.0;; --help) ;; *) exec sleep 1000;; esac',
    );

    expect(await answerBy(test, machine, [silent], { readyMs: 50, killGraceMs: 50 })).toMatchObject(
      {
        reason: "PiCrashed",
        message: expect.stringContaining("did not answer within 50 ms"),
      },
    );
  });

  it("says so where the folder that it is to work in is missing", async (test) => {
    const machine = createPiMachine(test, { pi });
    const cwd = path.join(machine.project, "gone");

    const { answer } = ask(startAgents(test, machine), machine, { cwd });

    expect(await answer).toMatchObject({
      reason: "PiCrashed",
      message: `The agent's folder does not exist: ${cwd}`,
      retryable: false,
    });
  });

  it("does not give Pi what the server has in its environment", async (test) => {
    const provider = await useModelProvider(test);
    const machine = createPiMachine(test, { pi, modelUrl: provider.url });
    Object.assign(machine.env, { GITHUB_TOKEN: "g", ANTHROPIC_API_KEY: "a", NODE_OPTIONS: "-r x" });
    const agents = startAgents(test, machine);
    provider.queue({ calls: [{ name: "bash", arguments: { command: "env" } }] }, submits(1));

    const { answer, texts } = ask(agents, machine, { tools: ["bash"] });

    expect(await answer).toEqual({ state: "answered", value: 1 });
    expect(texts.join("\n")).toContain("PI_OFFLINE=1");
    expect(texts.join("\n")).not.toMatch(/GITHUB_TOKEN|ANTHROPIC|NODE_OPTIONS|ANSWER_FILE/);
  });
});
