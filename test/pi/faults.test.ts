import { spawn, type ChildProcess } from "node:child_process";
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { TestContext } from "vitest";
import type { AgentPort } from "../../src/model/agent.ts";
import { systemClock } from "../../src/model/clock.ts";
import { LIMITS } from "../../src/model/limits.ts";
import type { Clock } from "../../src/model/ports.ts";
import { reapOrphans } from "../../src/runner/orphans.ts";
import { obedient, type ModelProvider } from "../model-provider/stand-in.mjs";
import { alive, until } from "../runner/support/processes.ts";
import { ask, startAgents, submits, type Asked } from "./support/agents.ts";
import { TRIED_PIS } from "./support/installed.ts";
import {
  createPiMachine,
  lifetimeOfSuite,
  useModelProvider,
  type PiMachine,
} from "./support/machine.ts";

/** A command that notes its number and then lasts for longer than any test. */
const LASTING = "echo $$ > command.pid.new; mv command.pid.new command.pid; exec sleep 1000";

/** The machine's clock, but that a deadline of a test comes when the test says so. */
function clockWithDeadlines(): Clock & { strike(): void } {
  const due = new Set<() => void>();
  return {
    ...systemClock,
    schedule(callback, delayMs) {
      if (delayMs !== A_MINUTE) return systemClock.schedule(callback, delayMs);
      due.add(callback);
      return () => due.delete(callback);
    },
    strike: () => due.forEach((callback) => callback()),
  };
}
const A_MINUTE = 60_000;

describe.each(TRIED_PIS)("an agent by Pi $version", (pi) => {
  const clock = clockWithDeadlines();
  let provider: ModelProvider;
  let machine: PiMachine;
  let agents: AgentPort;
  const suite = lifetimeOfSuite();
  beforeAll(async () => {
    provider = await useModelProvider(suite);
    const retry = { enabled: true, maxRetries: 1, baseDelayMs: 1 };
    machine = createPiMachine(suite, { pi, modelUrl: provider.url, settings: { retry } });
    agents = startAgents(suite, machine, { clock, limits: { killGraceMs: 500 } });
  });
  beforeEach(() => provider.answerBy(obedient));
  afterEach(async () => {
    await agents.close("run-1", "node");
    // Notes for the next server, and files with schemas.
    const left = leftOf(machine);
    if (left.length > 0) throw new Error(`left behind: ${left.join(", ")}`);
  });

  const pidFile = (): string => path.join(machine.project, "command.pid");
  /** An agent in the middle of a command that lasts: the numbers of both processes. */
  async function atWork(): Promise<Asked & { command: number; pi: number }> {
    provider.queue({ calls: [{ name: "bash", arguments: { command: LASTING } }] });
    const asked = ask(agents, machine, { tools: ["bash"] });
    await until(() => existsSync(pidFile()), A_MINUTE);
    const command = Number(readFileSync(pidFile(), "utf8"));
    rmSync(pidFile());
    const [note] = readdirSync(path.join(machine.root, "state/runners"));
    const numbers = { command, pi: Number.parseInt(note as string, 10) };
    expect([alive(numbers.command), alive(numbers.pi)]).toEqual([true, true]);
    return { ...asked, ...numbers };
  }

  it("is cancelled in the middle of a command, which ends with it", async () => {
    const work = await atWork();
    work.cancel();
    expect(await work.answer).toMatchObject({ reason: "Cancelled" });
    expect([alive(work.command), alive(work.pi)]).toEqual([false, false]);
  });

  it("ends at its deadline, and its command with it", async () => {
    const work = await atWork();
    clock.strike();
    expect(await work.answer).toMatchObject({ reason: "Deadline", retryable: true });
    expect([alive(work.command), alive(work.pi)]).toEqual([false, false]);
  });

  it("is killed when it does not stop, and its command with it", async () => {
    const work = await atWork();
    process.kill(work.pi, "SIGSTOP");
    work.cancel();
    expect(await work.answer).toMatchObject({ reason: "Cancelled" });
    expect([alive(work.command), alive(work.pi)]).toEqual([false, false]);
  });

  it("fails when Pi is killed, and its command ends; asked again it begins anew", async () => {
    const work = await atWork();
    process.kill(work.pi, "SIGKILL");
    expect(await work.answer).toMatchObject({
      reason: "PiCrashed",
      message: "Pi ended before the agent answered: it was ended by SIGKILL",
      retryable: true,
    });
    expect(alive(work.command)).toBe(false);

    provider.queue(submits(1));
    expect(await ask(agents, machine).answer).toEqual({ state: "answered", value: 1 });
  });

  it("gives up a model that never answers, at its deadline", async () => {
    provider.answerBy(() => ({ stall: "" }));
    const asked = provider.requests.length;
    const { answer } = ask(agents, machine);
    await provider.untilRequests(asked + 1);
    clock.strike();
    expect(await answer).toMatchObject({ reason: "Deadline" });
  });

  it("tries again as Pi is set to when the connection breaks, and goes on", async () => {
    provider.queue({ cut: "I would" }, submits(5));
    const { answer, texts } = ask(agents, machine);
    expect(await answer).toEqual({ state: "answered", value: 5 });
    expect(texts.join("\n")).toContain("↻ asking the model again (1)");
  });

  it.each([
    ["whose connection always breaks", { cut: "I would" }, /terminated|closed|aborted/],
    ["that refuses the key", { status: 401, message: "unknown key" }, /unknown key/],
  ])("fails by a model %s", async (_what, answer, message) => {
    provider.answerBy(() => answer);
    expect(await ask(agents, machine).answer).toMatchObject({
      reason: "ModelFailed",
      message: expect.stringMatching(message),
      retryable: true,
    });
  });

  it("is told that its answer is too large", async () => {
    provider.queue(submits("x".repeat(LIMITS.nodeOutput)));
    const { answer } = ask(agents, machine, { schema: { type: "string" } });
    expect(await answer).toMatchObject({ reason: "TooLarge" });
  });

  it("answers though more is written than one line may hold, and garbage between", async (test) => {
    const loud = startAgents(test, machine, {
      command: [wrapped(machine, 'echo garbage; printf "{\\"type\\":"; echo; exec pi "$@"')],
      limits: { line: 64 * 1024 },
    });
    provider.queue({ text: "word ".repeat(100_000), ...submits(3) });
    expect(await ask(loud, machine).answer).toEqual({ state: "answered", value: 3 });
    await loud.stop();
  });

  it("is called off, and another is not begun, when its server stops", async (test) => {
    const stopping = startAgents(test, machine);
    provider.answerBy(() => ({ stall: "Well" }));
    const asked = provider.requests.length;
    const questions = ["a", "b"].map(
      (conversation) => ask(stopping, machine, { conversation }).answer,
    );
    await provider.untilRequests(asked + 2);
    expect(stopping.alive()).toBe(2);

    await stopping.stop();

    expect(stopping.alive()).toBe(0);
    for (const answer of [...questions, ask(stopping, machine).answer]) {
      expect(await answer).toMatchObject({ state: "failed", reason: "Cancelled" });
    }
  });

  it("P-1: does not outlive a server that is killed, nor does its command", async (test) => {
    const server = await startServer(test, machine);
    provider.queue({ calls: [{ name: "bash", arguments: { command: LASTING } }] });
    await until(() => existsSync(pidFile()), A_MINUTE);
    const command = Number(readFileSync(pidFile(), "utf8"));
    rmSync(pidFile());
    const home = path.join(machine.root, "killed");
    const [note] = readdirSync(path.join(home, "runners"));
    const child = Number.parseInt(note as string, 10);

    server.kill("SIGKILL");

    await until(() => !alive(child) && !alive(command));
    expect(await reapOrphans(home)).toEqual([]);
  });
});

/** A program that runs `script` where Pi is started for work, and Pi itself where it is asked. */
function wrapped({ root }: PiMachine, script: string): string {
  const file = path.join(root, `pi-${readdirSync(root).length}`);
  const ask = 'case "$1" in --version|--help) exec pi "$@";; esac';
  writeFileSync(file, `#!/bin/sh\n${ask}\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

/** Notes and files of agents that were not removed with them. */
function leftOf({ root }: PiMachine): string[] {
  const state = path.join(root, "state");
  if (!existsSync(state)) return [];
  return readdirSync(state, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".json"),
  );
}

/** A process of its own that asks an agent, as a server does. */
async function startServer(test: TestContext, machine: PiMachine): Promise<ChildProcess> {
  // Beside dist/, where it finds the extension.
  const folder = path.join(import.meta.dirname, "../../.cache/pi/tmp");
  const program = path.join(folder, `../server-${process.pid}.mjs`);
  const home = path.join(machine.root, "killed");
  await build({
    stdin: {
      contents: `
        import { createPiAgents } from "./src/runner/pi/agents.ts";
        import { systemClock as clock } from "./src/model/clock.ts";
        const quiet = () => {};
        const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
        const agents = createPiAgents({ env: process.env, home: ${JSON.stringify(home)}, token: "t", clock, log });
        await agents.ask({ runId: "r", conversation: "c", prompt: "Go.", schema: {}, tools: ["bash"],
          cwd: ${JSON.stringify(machine.project)}, deadlineMs: 600_000 }, quiet, new AbortController().signal);
      `,
      resolveDir: path.join(import.meta.dirname, "../.."),
    },
    bundle: true,
    platform: "node",
    format: "esm",
    outfile: program,
  });
  const child = spawn(process.execPath, [program], { env: machine.env, stdio: "inherit" });
  test.onTestFinished(async () => {
    child.kill("SIGKILL");
    await reapOrphans(home);
    rmSync(program, { force: true });
  });
  return child;
}
