import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import type { JournalEntry } from "../../../src/model/run.ts";
import {
  action,
  agent,
  checkpoint,
  compute,
  decision,
  defineWorkflow,
  end,
  includeWorkflow,
  loop,
  parallel,
  shell,
  type WorkflowNode,
} from "../../../src/workflows/index.ts";
import { MemoryRunHost } from "./support/host.ts";
import { run } from "./support/run.ts";

let folder: string;
beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), "pi-workflows-recovery-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const written = (name: string): string[] => {
  try {
    return readFileSync(path.join(folder, name), "utf8").split("\n").filter(Boolean);
  } catch {
    return [];
  }
};
const write = (name: string, text: string): void =>
  appendFileSync(path.join(folder, name), `${text}\n`);

/** A workflow with every kind of node, which leaves in files what it did. */
function everything() {
  const seed = compute({ run: () => (write("pure", "seed"), 1) });
  const inner = compute<number, { n: number }>({
    run: ({ input }) => (write("pure", "inner"), input.n + 1),
  });
  const included = defineWorkflow({
    name: "included",
    input: z.object({ n: z.number() }),
    output: z.number(),
    startAt: "inner",
    nodes: { inner },
    edges: { inner: end("done") },
    exits: { done: ({ output }) => output(inner) },
  });
  const plus = includeWorkflow(included, { input: ({ output }) => ({ n: output(seed) }) });
  const keyed = action({
    safety: "idempotent",
    run: ({ idempotencyKey }) => (write("keys", idempotencyKey), "keyed"),
  });
  const manual = action({ safety: "manual", run: () => (write("manual", "done"), "sent") });
  const opinion = agent({ prompt: "well?", output: z.object({ ok: z.boolean() }) });
  const command = shell({
    command: ["echo", "hi"],
    safety: "idempotent",
    parse: ({ stdout }) => stdout.trim(),
  });
  const ask = checkpoint({ message: "Go on?", answer: z.string() });
  const count: WorkflowNode<number, unknown> = compute({
    run: ({ tryOutput }) => (tryOutput(count) ?? 0) + 1,
  });
  const more = decision({
    choices: ["yes", "no"],
    choose: ({ output }) => (output(count) < 3 ? "yes" : "no"),
  });
  const exit = "done" as const;
  return defineWorkflow({
    name: "probe",
    input: z.unknown(),
    output: z.unknown(),
    startAt: "seed",
    nodes: {
      seed,
      keyed,
      manual,
      opinion,
      command,
      ask,
      count,
      more,
      fork: compute({ run: () => null }),
    },
    includes: { plus },
    edges: {
      seed: "plus",
      plus: "count",
      count: "more",
      more: { yes: loop("count", { max: 5, exhausted: end(exit) }), no: "fork" },
      fork: parallel(["keyed", "opinion", "command"], { join: "manual" }),
      keyed: "manual",
      opinion: "manual",
      command: "manual",
      manual: "ask",
      ask: end(exit),
    },
    exits: {
      done: ({ output }) => [
        output(plus),
        output(count),
        output(keyed),
        output(opinion),
        output(command),
        output(manual),
        output(ask),
      ],
    },
  });
}

const EXPECTED = [2, 3, "keyed", { ok: true }, "hi", "sent", "yes"];

function hostOf(): MemoryRunHost {
  const host = new MemoryRunHost();
  host.agent = () => ({ state: "answered", value: { ok: true } });
  host.orders.answers.push({ node: "ask", ordinal: 1, value: "yes", by: "ann" });
  return host;
}

/** Executes passes until the run has ended; a person says of each ambiguous attempt that it went well. */
async function toTheEnd(host: MemoryRunHost): Promise<unknown> {
  for (let passes = 0; passes < 20; passes += 1) {
    const { outcome } = await run(everything(), { host, pass: { project: folder } });
    host.linesLeft = Number.POSITIVE_INFINITY;
    if (outcome.kind !== "ran") continue;
    if (outcome.ending.state !== "interrupted") return outcome.ending;
    const ambiguous = host.entries.findLast((entry) => entry.event === "ambiguous");
    const { visit } = ambiguous as Extract<JournalEntry, { event: "ambiguous" }>;
    host.orders.resolutions.push({ visit, outcome: "succeeded", output: "sent", by: "ann" });
  }
  throw new Error("the run comes to no end");
}

describe("a run whose runner dies", () => {
  it("anywhere ends as it would have, with no pure result lost and no manual action made twice", async () => {
    const whole = hostOf();
    expect(await toTheEnd(whole)).toMatchObject({ state: "succeeded", output: EXPECTED });
    const length = whole.entries.length;

    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: length }), { minLength: 1, maxLength: 3 }),
        async (cuts) => {
          rmSync(folder, { recursive: true });
          folder = mkdtempSync(path.join(tmpdir(), "pi-workflows-recovery-"));
          const host = hostOf();
          for (const cut of cuts) {
            host.linesLeft = cut;
            const { outcome } = await run(everything(), { host, pass: { project: folder } });
            if (outcome.kind === "ran" && outcome.ending.state === "succeeded") return;
            if (outcome.kind === "ran") break;
          }
          host.linesLeft = Number.POSITIVE_INFINITY;

          expect(await toTheEnd(host)).toMatchObject({ state: "succeeded", output: EXPECTED });
          expect(written("manual").length).toBeLessThanOrEqual(1);
          expect(new Set(written("keys")).size).toBe(1);
          const ends = host.entries.flatMap((entry) =>
            entry.event === "succeeded" ? [entry.visit] : [],
          );
          expect(new Set(ends).size).toBe(ends.length);
          const sequences = host.entries.map(({ sequence }) => sequence);
          expect(sequences).toEqual(sequences.map((_, index) => index + 1));
        },
      ),
      { numRuns: 40 },
    );
  });

  it("after a commit of a pure node's result does not compute it again", async () => {
    const host = hostOf();
    host.linesLeft = 1;
    host.onLine = () => (host.linesLeft = 0);
    await run(everything(), { host, pass: { project: folder } });
    host.onLine = () => {};
    expect(host.story).toEqual(["succeeded seed"]);
    host.linesLeft = Number.POSITIVE_INFINITY;

    await toTheEnd(host);

    expect(written("pure").filter((node) => node === "seed").length).toBe(1);
  });

  it("reads a journal of many pages", async () => {
    const host = hostOf();
    host.pageSize = 1;
    host.linesLeft = 9;
    await run(everything(), { host, pass: { project: folder } });
    host.linesLeft = Number.POSITIVE_INFINITY;
    expect(await toTheEnd(host)).toMatchObject({ output: EXPECTED });
  });
});

describe("what acts on the outside world", () => {
  it("begins only when its own beginning and all before it are durable", async () => {
    const host = new MemoryRunHost();
    let seen: string[] = [];
    const first = compute({ run: () => 1 });
    const act = action({ safety: "idempotent", run: () => void (seen = [...host.story]) });
    const workflow = defineWorkflow({
      name: "probe",
      input: z.unknown(),
      output: z.unknown(),
      startAt: "first",
      nodes: { first, act },
      edges: { first: "act", act: end("done") },
      exits: { done: () => null },
    });
    await run(workflow, { host });
    expect(seen).toEqual(["succeeded first", "begun act"]);
  });
});
