import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import type { JournalEntry } from "../../../src/model/run.ts";
import { MemoryRunHost } from "./support/host.ts";
import { useRunPools, type RunPool } from "./support/pool.ts";

const runPool = useRunPools();

/** Every kind of node; each leaves in files what it did. */
const EVERYTHING = `
  writeFileSync(new URL("runner", import.meta.url), String(process.pid));
  const note = (project, name, text) => appendFileSync(project + "/" + name, text + "\\n");
  const seed = compute({ run: ({ project }) => (note(project, "seed", "x"), 1) });
  const count = compute({ run: ({ tryOutput }) => (tryOutput(count) ?? 0) + 1 });
  const more = decision({ choices: ["yes", "no"], choose: ({ output }) => output(count) < 3 ? "yes" : "no" });
  const keyed = action({ safety: "idempotent",
    run: async ({ project, idempotencyKey }) => { note(project, "keys", idempotencyKey); await sleep(5); return "keyed"; } });
  const manual = action({ safety: "manual",
    run: async ({ project }) => { note(project, "manual", "x"); await sleep(5); return "sent"; } });
  const opinion = agent({ prompt: "well?", output: z.object({ ok: z.boolean() }) });
  const command = shell({ shell: "sleep 0.02; echo hi", safety: "idempotent", parse: ({ stdout }) => stdout.trim() });
  const ask = checkpoint({ message: "Go on?", answer: z.string() });
  const definition = { startAt: "seed",
    nodes: { seed, count, more, keyed, manual, opinion, command, ask, fork: compute({ run: () => null }) },
    edges: { seed: "count", count: "more", more: { yes: loop("count", { max: 5, exhausted: end("done") }), no: "fork" },
      fork: parallel(["keyed", "opinion", "command"], { join: "manual" }), keyed: "manual", opinion: "manual",
      command: "manual", manual: "ask", ask: end("done") },
    exits: { done: ({ output }) => [count, keyed, opinion, command, manual, ask].map(output) } };`;
const EXPECTED = [3, "keyed", { ok: true }, "hi", "sent", "yes"];

/** Executes passes to the run's end; where nobody knows whether the manual action was done, a person looks. */
async function toTheEnd(test: RunPool, host: MemoryRunHost): Promise<unknown> {
  for (let passes = 0; passes < 10; passes += 1) {
    const outcome = await test.execute(host).outcome;
    if (outcome.kind !== "ran") continue;
    if (outcome.ending.state !== "interrupted") return outcome.ending;
    const entry = host.entries.findLast(({ event }) => event === "ambiguous");
    const { visit } = entry as Extract<JournalEntry, { event: "ambiguous" }>;
    const isDone = linesOf(test, "manual").length > 0;
    host.orders.resolutions.push(
      isDone
        ? { visit, outcome: "succeeded", output: "sent", by: "ann" }
        : { visit, outcome: "retry", by: "ann" },
    );
  }
  throw new Error("the run comes to no end");
}

function linesOf({ home }: RunPool, name: string): string[] {
  return readFileSync(path.join(home, name), "utf8").split("\n").filter(Boolean);
}

it("a run whose runner is killed at any line of its journal ends as it would have", async () => {
  const test = runPool();
  test.workflow(EVERYTHING);
  for (let killedAt = 1; killedAt <= 18; killedAt += 3) {
    for (const name of ["seed", "keys", "manual"]) writeFileSync(path.join(test.home, name), "");
    const host = new MemoryRunHost();
    host.agent = () => ({ state: "answered", value: { ok: true } });
    host.orders.answers.push({ node: "ask", ordinal: 1, value: "yes", by: "ann" });
    host.onLine = ({ sequence, epoch }) => {
      if (sequence !== killedAt || epoch !== 1) return;
      process.kill(Number(readFileSync(path.join(test.home, "runner"), "utf8")), "SIGKILL");
    };

    expect(await toTheEnd(test, host)).toMatchObject({ state: "succeeded", output: EXPECTED });
    expect(host.epoch).toBeGreaterThan(1);
    // The first line that is durable is that of the seed, and it was not computed again.
    expect(linesOf(test, "seed").length).toBe(1);
    expect(linesOf(test, "manual").length).toBe(1);
    expect(new Set(linesOf(test, "keys")).size).toBe(1);
  }
}, 60_000);
