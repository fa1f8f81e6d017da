import { canonicalJson, fingerprintText } from "../../src/model/canonical.ts";
import type { Condition } from "../../src/model/condition.ts";
import { effectKeyOf, providerKeyOf } from "./programs.ts";
import type { Machine } from "./server.ts";
import type { ResourceRow } from "./store-state.ts";

/** What is wrong once faults have stopped, people have done their part, and time has passed. */
export function settledProblems(machine: Machine): string[] {
  const { oracle, provider } = machine;
  const problems: string[] = [];
  for (const [key, times] of counted(provider.log.map((landed) => landed.key))) {
    if (times > 1) problems.push(`E-2: ${key} was done ${times} times`);
  }
  const { resources, runs, queue, effects } = oracle.state;
  for (const row of queue.values()) {
    const { uid } = oracle.state.byId.get(row.resource_id) as ResourceRow;
    if (row.claim_token !== null) problems.push(`Q-9: ${uid} is still worked on`);
  }
  for (const row of resources.values()) {
    if (row.state !== "live" || runs.has(row.id)) continue;
    problems.push(...restProblems(machine, row));
  }
  problems.push(...syncProblems(machine));
  for (const [id, run] of runs) {
    const uid = oracle.state.byId.get(id)?.uid ?? "";
    const isAtRest =
      ["succeeded", "failed", "interrupted"].includes(run.state) ||
      (run.state === "waiting" && (run.reason === "Paused" || run.open_questions > 0));
    if (!isAtRest) problems.push(`R-4: run ${uid} is ${run.state} ${run.reason ?? ""}`);
  }
  for (const [id, effect] of effects) {
    if (effect.state === "pending")
      problems.push(`E-6: effect ${id} is pending, with nobody to end it`);
  }
  return problems;
}

/** The newest commit is in force, but for what people hold or delete. */
function syncProblems({ oracle, repository }: Machine): string[] {
  if (!repository) return [];
  const problems: string[] = [];
  const declared = repository.declared();
  const live = [...oracle.state.resources.values()].filter(({ state }) => state === "live");
  for (const row of live) {
    const isGone = row.owner_kind === "sync" && !declared.has(row.key);
    if (isGone && row.deletion_at === null) problems.push(`A-4: ${row.key} was not pruned`);
  }
  for (const [key, spec] of declared) {
    const row = live.find((one) => one.manager === "thing" && one.key === key);
    if (!row) problems.push(`A-1: ${key} was not made`);
    else if (row.owner_kind === "sync" && row.deletion_at === null) {
      const isSame = row.spec_hash === fingerprintText(canonicalJson(spec));
      if (!isSame) problems.push(`A-1: ${key} is not what was committed`);
    }
  }
  return problems;
}

function restProblems({ oracle, provider }: Machine, row: ResourceRow): string[] {
  const what = `${row.manager} ${row.key} ${row.uid}`;
  const { byId, runs, effects } = oracle.state;
  const waitsForRun = [...runs.entries()].some(
    ([id, run]) => run.parent_uid === row.uid && byId.get(id)?.state === "live",
  );
  const wanted = row.deletion_at === null ? effectKeyOf(row.generation) : "remove";
  // What the provider refuses for good is not tried again.
  if (effects.get(`${row.id} ${wanted}`)?.state === "rejected") return [];
  if (row.deletion_at !== null) {
    return waitsForRun ? [] : [`D-2: still being deleted: ${what}`];
  }
  const conditions = JSON.parse(row.conditions) as Condition[];
  if (row.observed_generation !== row.generation) {
    return [`it has not converged (${row.observed_generation} of ${row.generation}): ${what}`];
  }
  const problems: string[] = [];
  const ready = conditions.find(({ type }) => type === "Ready");
  if (ready?.status !== true && !waitsForRun) {
    problems.push(`R-2: it is not ready, and waits for nothing: ${what}`);
  }
  const key = providerKeyOf(row.uid, effectKeyOf(row.generation));
  // What it said to have done it need not have: never more than once.
  const times = provider.count(key);
  const isDone = times === 1 || (times === 0 && provider.lies.has(key));
  if (row.manager === "thing" && !isDone) {
    problems.push(`E-1: its effect was done ${times} times: ${what}`);
  }
  return problems;
}

function counted(keys: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}
