import { expect } from "vitest";
import fc from "fast-check";
import type { RunEnding } from "../../src/model/run.ts";
import type { Claimed, SettleReceipt } from "../../src/store/store.ts";
import { ASKS, BROKEN, DONE, line, PROJECT, STOPPED, UNSURE, type Driver } from "./words.ts";

/** One step of a story about runs, as plain data. */
export type RunStep =
  | { do: "accept-workflow"; name: string; digest: string }
  | { do: "start"; workflow: string; input: number; requestKey?: string }
  | { do: "ensure"; pick: number; workflow: string; input: number; requestKey: string }
  | { do: "child"; pick: number; requestKey: string; cancel: boolean }
  | { do: "journal"; pick: number; lines: number[] }
  | { do: "orders"; pick: number }
  | { do: "settle-run"; pick: number; ending: RunEnding; next: boolean }
  | { do: "order"; run: number; order: "pause" | "resume" | "cancel" | "retry" }
  | { do: "answer"; run: number; ordinal?: number }
  | { do: "resolve-run"; run: number; visit: number; outcome: "retry" | "succeeded" };

const pick = fc.nat({ max: 5 });
const run = fc.nat({ max: 5 });
const workflow = fc.constantFrom("w", "w", "w", "v");
const input = fc.constantFrom(0, 0, 0, 1);
const requestKey = fc.constantFrom("k", "k", "l");

export const runSteps: fc.Arbitrary<RunStep>[] = [
  fc.record({
    do: fc.constant("accept-workflow" as const),
    name: workflow,
    digest: fc.constantFrom("1", "1", "2"),
  }),
  fc.record(
    { do: fc.constant("start" as const), workflow, input, requestKey },
    { requiredKeys: ["do", "workflow", "input"] },
  ),
  fc.record({ do: fc.constant("ensure" as const), pick, workflow, input, requestKey }),
  fc.record({ do: fc.constant("ensure" as const), pick, workflow, input, requestKey }),
  fc.record({ do: fc.constant("child" as const), pick, requestKey, cancel: fc.boolean() }),
  fc.record({
    do: fc.constant("journal" as const),
    pick,
    lines: fc.array(fc.nat({ max: 11 }), { minLength: 1, maxLength: 3 }),
  }),
  fc.record({
    do: fc.constant("journal" as const),
    pick,
    lines: fc.array(fc.nat({ max: 11 }), { minLength: 1, maxLength: 3 }),
  }),
  fc.record({ do: fc.constant("orders" as const), pick }),
  fc.record({
    do: fc.constant("settle-run" as const),
    pick,
    ending: fc.constantFrom(DONE, BROKEN, ASKS, ASKS, STOPPED, UNSURE),
    next: fc.boolean(),
  }),
  fc.record({
    do: fc.constant("settle-run" as const),
    pick: fc.constant(0),
    ending: fc.constantFrom(DONE, BROKEN, ASKS, STOPPED, UNSURE),
    next: fc.boolean(),
  }),
  fc.record({
    do: fc.constant("order" as const),
    run,
    order: fc.constantFrom("pause", "resume", "cancel", "retry"),
  }),
  fc.record(
    { do: fc.constant("answer" as const), run, ordinal: fc.integer({ min: 1, max: 2 }) },
    { requiredKeys: ["do", "run"] },
  ),
  fc.record({
    do: fc.constant("resolve-run" as const),
    run,
    visit: fc.constantFrom(3, 3, 4),
    outcome: fc.constantFrom("retry", "succeeded"),
  }),
];

/** What a story about runs begins with: workflows that can be run. */
export const RUN_PROLOGUE: RunStep[] = ["v", "w"].map((name) => ({
  do: "accept-workflow",
  name,
  digest: "1",
}));

const push = { node: "push" };
const LINES = [
  line("begun", 1),
  line("succeeded", 1),
  line("aborted", 1),
  line("begun", 2),
  line("succeeded", 2),
  line("begun", 3, push),
  line("ambiguous", 3, push),
  line("released", 3, push),
  line("failed", 3, push),
  line("succeeded", 4, { node: "a" }),
  { at: 1, event: "recovered" } as const,
  { at: 1, event: "cancel", by: "ann" } as const,
];

/** What a step does with the claims that a side has handed out. */
export type Hands = {
  driver: Driver;
  handed: readonly Claimed[];
  /** Remembers how a claim was settled, and takes what was claimed next. */
  settled: (claimed: Claimed, settle: () => Promise<SettleReceipt>) => Promise<unknown>;
};

export function isRunStep(step: { do: string }): step is RunStep {
  return RUN_STEPS.has(step.do);
}
const RUN_STEPS: ReadonlySet<string> = new Set([
  "accept-workflow",
  "start",
  "ensure",
  "child",
  "journal",
  "orders",
  "settle-run",
  "order",
  "answer",
  "resolve-run",
]);

export async function takeRunStep(step: RunStep, hands: Hands): Promise<unknown> {
  const { driver } = hands;
  switch (step.do) {
    case "accept-workflow":
      return driver.accept(step.name, step.digest);
    case "start":
      return driver.start(step.input, {
        workflow: step.workflow,
        ...(step.requestKey === undefined ? {} : { requestKey: step.requestKey }),
      });
    case "order":
    case "answer":
    case "resolve-run":
      return takeOrder(step, driver);
    default:
      return takePassStep(step, hands);
  }
}

async function takeOrder(
  step: Extract<RunStep, { run: number }>,
  { store }: Driver,
): Promise<unknown> {
  const { items } = await store.runs({});
  const runId = items[step.run % Math.max(1, items.length)]?.runId ?? "none";
  if (step.do === "answer") {
    const ordinal = step.ordinal === undefined ? {} : { ordinal: step.ordinal };
    return store.answerRun(runId, { node: "ask", value: "yes", by: "ann", ...ordinal });
  }
  if (step.do === "resolve-run") {
    const outcome =
      step.outcome === "retry" ? { outcome: step.outcome } : { outcome: step.outcome };
    return store.resolveRun(runId, step.visit, { ...outcome, by: "ann" });
  }
  switch (step.order) {
    case "pause":
      return store.pauseRun(runId);
    case "resume":
      return store.resumeRun(runId);
    case "cancel":
      return store.cancelRun(runId, "ann");
    case "retry":
      return store.retryRun(runId, "ann");
  }
}

async function takePassStep(
  step: Extract<RunStep, { pick: number }>,
  { driver, handed, settled }: Hands,
): Promise<unknown> {
  const { store } = driver;
  const ofParents = step.do === "ensure" || step.do === "child";
  const fitting = handed.filter((claimed) => (claimed.run === undefined) === ofParents);
  const claimed = fitting.at(-1 - (step.pick % Math.max(1, fitting.length)));
  if (!claimed) return undefined;
  switch (step.do) {
    case "ensure": {
      const { requestKey, workflow: name } = step;
      return store.ensureChildRun(claimed.claim, { requestKey, workflow: name, input: step.input });
    }
    case "child":
      return step.cancel
        ? store.cancelChildRun(claimed.claim, step.requestKey)
        : store.childRun(claimed.claim, step.requestKey);
    case "journal":
      return store.appendJournal(
        claimed.claim,
        step.lines.map((index) => LINES[index] as (typeof LINES)[number]),
      );
    case "orders":
      return store.runOrders(claimed.claim);
    case "settle-run": {
      const next = step.next ? { next: driver.claimRequest(2) } : {};
      return settled(claimed, () => driver.settleRun(claimed, step.ending, next));
    }
  }
}

/** All that can be seen of runs, oldest first. */
export async function lookAtRuns({ store }: Driver): Promise<unknown[]> {
  const { items } = await store.runs({});
  const looks = items
    .reverse()
    .map(async ({ runId }) => [
      await store.run(runId),
      await store.journal(runId, {}),
      await store.awaited(runId),
    ]);
  return Promise.all(looks);
}

/** What holds of runs and their parents after every step. */
export async function runsHold({ store }: Driver): Promise<void> {
  const queued = new Set((await store.queue({ project: PROJECT })).map(({ uid }) => uid));
  const { items } = await store.runs({});
  const open = items.filter(({ endedAt }) => endedAt === undefined);
  for (const one of open) {
    // who is to look at it again, and when? Interrupted ones wait for a person by name.
    const waits = one.paused || one.state === "interrupted";
    expect({ ...one, isQueued: waits || queued.has(one.runId) }).toMatchObject({ isQueued: true });
    if (one.paused && one.claimedAt === undefined) expect(queued).not.toContain(one.runId);
  }
  for (const manager of ["m", "n"]) {
    for (const key of ["a", "b", "c"]) {
      const found = await store.get({ project: PROJECT, resourceManager: manager, key });
      if (!found) continue;
      const { metadata } = found.resource;
      const own = open.filter(({ parent }) => parent?.uid === metadata.uid);
      expect(metadata.finalizers.includes("pi-workflows/child-runs")).toBe(own.length > 0);
    }
  }
}
