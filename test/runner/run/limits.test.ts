import { describe, expect, it } from "vitest";
import { LIMITS } from "../../../src/model/limits.ts";
import type { JournalInput } from "../../../src/model/run.ts";
import { parseFromRunner } from "../../../src/runner/protocol.ts";
import { JournalWriter } from "../../../src/runner/run/journal.ts";
import { RunLogWriter } from "../../../src/runner/run/run-log.ts";
import { limitOf } from "../../../src/runner/task.ts";
import { agent, compute, defineWorkflow, end, parallel } from "../../../src/workflows/index.ts";
import { z } from "zod";
import { clock } from "../support/pool.ts";
import { MemoryRunHost } from "./support/host.ts";
import { gate, run, start } from "./support/run.ts";
import { chain } from "./support/workflow.ts";

const entry = (visit: number, output?: string): JournalInput => ({
  event: "succeeded",
  at: 1,
  startedAt: 1,
  kind: "compute",
  visit,
  node: "n",
  attempt: 1,
  ...(output === undefined ? {} : { output }),
});

describe("the limits of runs", () => {
  it("LIMITS.nodeOutput: a node hands over so much, and not one byte more", async () => {
    const node = (bytes: number) => compute({ run: () => "x".repeat(bytes - 2) });
    const whole = await run(chain({ node: node(LIMITS.nodeOutput) }));
    expect(whole.outcome).toMatchObject({ ending: { state: "succeeded" } });
    const more = await run(chain({ node: node(LIMITS.nodeOutput + 1) }));
    expect(more.outcome).toMatchObject({
      ending: {
        message:
          "node: node node handed over an output that is too large: 1048577 bytes of JSON, at most 1048576",
      },
    });
    const wide = await run(
      chain({ node: compute({ run: () => "é".repeat(LIMITS.nodeOutput / 2) }) }),
    );
    expect(wide.outcome).toMatchObject({
      ending: { message: expect.stringContaining("1048578 bytes") },
    });
  });

  it("LIMITS.nodeOutput: a prompt may have so much, and not one byte more", async () => {
    const host = new MemoryRunHost();
    host.agent = () => ({ state: "answered", value: "ok" });
    const node = (bytes: number) => agent({ prompt: () => "x".repeat(bytes), output: z.string() });
    const whole = await run(chain({ node: node(LIMITS.nodeOutput) }), { host });
    expect(whole.outcome).toMatchObject({ ending: { state: "succeeded" } });
    const more = await run(chain({ node: node(LIMITS.nodeOutput + 1) }));
    expect(more.outcome).toMatchObject({
      ending: { message: expect.stringContaining("the prompt has 1048577 bytes") },
    });
  });

  it("LIMITS.journalPage: so many lines are one message, one more another", async () => {
    const sizes: number[] = [];
    const host = { appendJournal: async (lines: JournalInput[]) => void sizes.push(lines.length) };
    const journal = new JournalWriter(host, () => {});
    for (let visit = 1; visit <= LIMITS.journalPage + 1; visit += 1) journal.append(entry(visit));
    await journal.durable();
    expect(sizes).toEqual([LIMITS.journalPage, 1]);

    const call = (count: number) =>
      JSON.stringify({
        type: "call",
        pass: 1,
        id: 1,
        method: "appendJournal",
        params: { entries: Array.from({ length: count }, (_, index) => entry(index + 1)) },
      });
    expect(parseFromRunner(call(LIMITS.journalPage)).type).toBe("call");
    expect(() => parseFromRunner(call(LIMITS.journalPage + 1))).toThrow(/entries/);
  });

  it("LIMITS.journalInFlight: no more is made while so much is on its way", async () => {
    const kept = gate();
    const journal = new JournalWriter({ appendJournal: () => kept.opened }, () => {});
    const mebibyte = "x".repeat(1024 * 1024);
    for (let bytes = mebibyte.length; bytes < LIMITS.journalInFlight; bytes += mebibyte.length) {
      journal.append(entry(1, mebibyte));
      expect(journal.isFull).toBe(false);
    }
    journal.append(entry(1, mebibyte));
    expect(journal.isFull).toBe(true);
    let hasRoom = false;
    const room = journal.room().then(() => (hasRoom = true));
    await Promise.resolve();
    expect(hasRoom).toBe(false);
    kept.open();
    await room;
    expect(journal.isFull).toBe(false);
  });

  it("LIMITS.runLogPiece: longer text is kept in several pieces, whole", async () => {
    const host = new MemoryRunHost();
    const log = new RunLogWriter(host, clock);
    const text = "x".repeat(LIMITS.runLogPiece);
    log.write({ visit: 1, node: "n", stream: "stdout", text });
    log.write({ visit: 2, node: "n", stream: "stdout", text: `${text}y` });
    await log.flush();
    expect(host.logged.map((piece) => [piece.visit, piece.text.length])).toEqual([
      [1, LIMITS.runLogPiece],
      [2, LIMITS.runLogPiece],
      [2, 1],
    ]);
    const call = (piece: string) =>
      JSON.stringify({
        type: "call",
        pass: 1,
        id: 1,
        method: "appendRunLog",
        params: { entries: [{ at: 1, visit: 1, node: "n", stream: "log", text: piece }] },
      });
    expect(parseFromRunner(call(text)).type).toBe("call");
    expect(() => parseFromRunner(call(`${text}y`))).toThrow(/text/);
  });

  it("a flood of output is left out where it can't be kept in time, and said to be", async () => {
    const kept = gate();
    const host = new MemoryRunHost();
    const keep = host.appendRunLog.bind(host);
    host.appendRunLog = async (pieces) => (await kept.opened, keep(pieces));
    const log = new RunLogWriter(host, clock);
    const write = (text: string) => log.write({ visit: 1, node: "n", stream: "stdout", text });
    write("x".repeat(1024 * 1024));
    const full = log.flush();
    write("lost");
    kept.open();
    await full;
    write("heard\n");
    await log.flush();
    expect(host.said("stdout").slice(1024 * 1024)).toBe("… (4 characters left out)\nheard\n");
  });

  it("LIMITS.attemptsAtOnce: so many branches run at once, and one more when one has ended", async () => {
    const go = gate();
    let [running, most] = [0, 0];
    const names = Array.from({ length: LIMITS.attemptsAtOnce + 1 }, (_, index) => `n${index}`);
    const branch = () =>
      compute({
        run: async () => {
          most = Math.max(most, (running += 1));
          await go.opened;
          running -= 1;
        },
      });
    const fork = compute({ run: () => null });
    const join = compute({ run: () => null });
    const workflow = defineWorkflow({
      name: "probe",
      input: z.unknown(),
      output: z.unknown(),
      startAt: "fork",
      nodes: { fork, join, ...Object.fromEntries(names.map((name) => [name, branch()])) },
      edges: {
        fork: parallel(names as never, { join: "join" as never }),
        join: end("done"),
        ...Object.fromEntries(names.map((name) => [name, "join"])),
      },
      exits: { done: () => null },
    });
    const { outcome } = start(workflow);
    while (most < LIMITS.attemptsAtOnce) await new Promise((resolve) => setImmediate(resolve));
    expect(running).toBe(LIMITS.attemptsAtOnce);
    go.open();
    expect(await outcome).toMatchObject({ ending: { state: "succeeded" } });
    expect(most).toBe(LIMITS.attemptsAtOnce);
  });

  it("LIMITS.agentTools: an agent may be given so many tools, and not one more", () => {
    const call = (count: number) =>
      JSON.stringify({
        type: "call",
        pass: 1,
        id: 1,
        method: "askAgent",
        params: {
          visit: 1,
          node: "n",
          conversation: "c",
          prompt: "?",
          schema: {},
          tools: Array.from({ length: count }, (_, index) => `tool${index}`),
          cwd: "/",
          deadlineMs: 1,
        },
      });
    expect(parseFromRunner(call(LIMITS.agentTools)).type).toBe("call");
    expect(() => parseFromRunner(call(LIMITS.agentTools + 1))).toThrow(/tools/);
  });

  it("LIMITS.endRunMs: past its deadline a run has so long to call off and to undo", () => {
    const host = new MemoryRunHost();
    const task = (remainingMs: number) => ({
      type: "execute" as const,
      request: host.pass({}, { remainingMs }),
      host,
      watch: { begin() {}, journaled() {}, pong() {}, stop() {} },
    });
    expect(limitOf(task(1_000))).toBe(1_000 + LIMITS.endRunMs);
    expect(limitOf(task(-1_000))).toBe(LIMITS.endRunMs);
  });
});
