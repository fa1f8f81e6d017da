import type { ResourceRow, RunRow, StoreState } from "./store-state.ts";

const CHILD_RUNS = "pi-workflows/child-runs";

/** What is wrong with what is committed, whatever led there. */
export function checkState(state: StoreState): string[] {
  return [...liveProblems(state), ...runProblems(state)];
}

function liveProblems(state: StoreState): string[] {
  const problems: string[] = [];
  const waitedFor = new Set<string>();
  for (const run of state.runs.values()) {
    if (run.parent_uid !== null && !hasEnded(run)) waitedFor.add(run.parent_uid);
  }
  for (const row of state.resources.values()) {
    const what = `${row.manager} ${row.key} ${row.uid}`;
    if (row.state !== "live" || state.runs.has(row.id)) continue;
    const finalizers = JSON.parse(row.finalizers) as string[];
    if (row.deletion_at !== null && finalizers.length === 0) {
      problems.push(`D-2: being deleted, with nothing to wait for: ${what}`);
    }
    if (finalizers.includes(CHILD_RUNS) !== waitedFor.has(row.uid)) {
      problems.push(`R-2: its finalizer and its child runs do not agree: ${what}`);
    }
    const isBehind = row.observed_generation < row.generation;
    const isQueued = state.queue.has(row.id);
    const mayRest = row.suspended === 1 || row.held_generation === row.generation;
    if (isBehind && !isQueued && !mayRest && !isParked(row)) {
      problems.push(`Q-2: a generation that nobody will look at: ${what}`);
    }
  }
  return problems;
}

function isParked({ conditions }: ResourceRow): boolean {
  return conditions.includes("EffectIndeterminate");
}

function runProblems(state: StoreState): string[] {
  const problems: string[] = [];
  for (const [id, run] of state.runs) {
    const row = state.byId.get(id);
    const what = `${row?.manager} ${row?.uid}`;
    if (run.entries !== run.lines) problems.push(`R-2: lines of its journal are missing: ${what}`);
    const isQueued = state.queue.has(id);
    if (hasEnded(run) && isQueued) problems.push(`R-4: it has ended, and is queued: ${what}`);
    if (hasEnded(run) !== (row?.state === "removed")) {
      problems.push(`R-2: it has ended, and its resource has not: ${what}`);
    }
    const isPaused = row?.suspended === 1;
    const isActive = run.state === "pending" || run.state === "running";
    if (isActive && !isQueued && !isPaused) problems.push(`R-4: nobody works on it: ${what}`);
    if (run.state === "waiting" && !isQueued && !isPaused) {
      problems.push(`R-4: it waits without an end: ${what}`);
    }
  }
  return problems;
}

function hasEnded({ state }: RunRow): boolean {
  return state === "succeeded" || state === "failed";
}
