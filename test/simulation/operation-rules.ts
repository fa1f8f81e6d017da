import type { Condition } from "../../src/model/condition.ts";
import { EFFECT_TRANSITIONS } from "../../src/model/effect.ts";
import type { QueueRow, ResourceRow, StoreState } from "./store-state.ts";

type Change = { name: string; before: StoreState; after: StoreState };

/** What is wrong with what one operation did. */
export function checkOperation(name: string, before: StoreState, after: StoreState): string[] {
  const change = { name, before, after };
  return [
    ...resourceProblems(change),
    ...queueProblems(change),
    ...effectProblems(change),
    ...runProblems(change),
  ];
}

/** Operations by which those who write specs change them. */
const SPEC_WRITERS = new Set(["applyBatch", "delete"]);
/** Operations that end passes. */
const PASS_ENDS = new Set(["settle", "claim", "beginEpoch"]);

function resourceProblems({ name, before, after }: Change): string[] {
  const problems: string[] = [];
  const say = (row: ResourceRow, what: string): void =>
    void problems.push(`${what}: ${row.manager} ${row.key} ${row.uid}`);
  for (const [uid, row] of after.resources) {
    const old = before.resources.get(uid);
    if (row.manager.startsWith("workflow/")) continue;
    if (!old) {
      if (row.generation !== 1) say(row, "D-5: a new resource begins at another generation");
      continue;
    }
    const isWanted = old.spec_hash !== row.spec_hash || old.deletion_at !== row.deletion_at;
    if (row.generation !== old.generation + (isWanted ? 1 : 0)) {
      say(row, `G-1: generation ${old.generation} became ${row.generation}`);
    }
    const isChanged =
      JSON.stringify({ ...old, held_generation: 0 }) !==
      JSON.stringify({ ...row, held_generation: 0 });
    if (isChanged !== row.resource_version > old.resource_version) {
      say(row, `G-2: version ${old.resource_version} became ${row.resource_version}`);
    }
    if (isChanged && row.resource_version <= before.revision) say(row, "G-2: an old version");
    if (row.observed_generation < old.observed_generation) say(row, "G-4: it observes less");
    if (row.observed_generation > old.observed_generation) {
      const read = before.queue.get(row.id)?.read_generation;
      if (!PASS_ENDS.has(name) || row.observed_generation !== read) {
        say(row, `G-4: it observes ${row.observed_generation}, read ${read ?? "nothing"}`);
      }
    }
    if (isWanted && !SPEC_WRITERS.has(name) && !name.includes("atch")) {
      say(row, `G-6: ${name} changed the spec`);
    }
    const isPruned = old.deletion_at === null && row.deletion_at !== null && name !== "delete";
    if (isPruned && old.owner_kind !== "sync") say(row, "A-4: another's resource was pruned");
    if (old.deletion_at !== null && row.deletion_at !== old.deletion_at) {
      say(row, "D-1: the mark of the deletion changed");
    }
    if (old.deletion_at !== null && count(row.finalizers) > count(old.finalizers)) {
      say(row, "D-3: a finalizer was added");
    }
    if (old.state === "removed" && row.state === "live") say(row, "D-5: it is live again");
    problems.push(...conditionProblems(old, row));
  }
  return problems;
}

function conditionProblems(old: ResourceRow, row: ResourceRow): string[] {
  if (old.conditions === row.conditions) return [];
  const before = JSON.parse(old.conditions) as Condition[];
  const after = JSON.parse(row.conditions) as Condition[];
  const problems: string[] = [];
  if (new Set(after.map(({ type }) => type)).size !== after.length) {
    problems.push(`G-7: a condition twice: ${row.uid}`);
  }
  for (const now of after) {
    const was = before.find(({ type }) => type === now.type);
    const isSame = was?.status === now.status;
    if (was && isSame && was.lastTransitionTime !== now.lastTransitionTime) {
      problems.push(`G-7: ${now.type} moved in time only: ${row.uid}`);
    }
  }
  return problems;
}

function queueProblems({ name, before, after }: Change): string[] {
  const problems: string[] = [];
  for (const [id, row] of after.queue) {
    const old = before.queue.get(id);
    const resource = after.byId.get(id);
    const what = `${resource?.manager} ${resource?.key} ${resource?.uid}`;
    if (resource?.state !== "live") problems.push(`Q-13: a row of what is removed: ${what}`);
    if (row.claim_token !== null && row.claim_token !== old?.claim_token) {
      problems.push(...claimProblems({ name, before, after }, row, what));
    }
    const wasDirty = old && old.claim_token !== null && old.enqueue_seq > (old.claimed_seq ?? 0);
    if (wasDirty && row.claim_token === null && row.ready_at > old.ready_at) {
      problems.push(`Q-3: what was asked for during the pass waits: ${what}`);
    }
  }
  for (const [id, old] of before.queue) {
    if (after.queue.has(id)) continue;
    const resource = after.byId.get(id);
    const isDirty = old.claim_token !== null && old.enqueue_seq > (old.claimed_seq ?? 0);
    const run = after.runs.get(id);
    const mayLeave = resource?.state !== "live" || resource.suspended === 1 || run !== undefined;
    if (isDirty && !mayLeave) {
      problems.push(`Q-3: what was asked for during the pass is forgotten: ${resource?.uid}`);
    }
  }
  if (name === "beginEpoch") {
    for (const row of after.queue.values()) {
      if (row.claim_token !== null) problems.push("F-7: a claim outlived its server");
    }
  }
  return problems;
}

function claimProblems({ name, before, after }: Change, row: QueueRow, what: string): string[] {
  const problems: string[] = [];
  const old = before.queue.get(row.resource_id);
  const resource = after.byId.get(row.resource_id);
  if (name !== "claim" && name !== "settle") problems.push(`Q-8: ${name} claimed ${what}`);
  if (old?.claim_token !== null && (old?.claim_expires_at ?? 0) > after.queueTime) {
    if (name !== "settle") problems.push(`Q-7, Q-8: a live claim was taken over: ${what}`);
  }
  if (resource?.suspended === 1) problems.push(`Q-7: a suspended key was claimed: ${what}`);
  const newest = Math.max(
    0,
    ...[...before.queue.values()].map(({ claim_generation }) => claim_generation ?? 0),
  );
  if ((row.claim_generation ?? 0) <= newest) problems.push(`F-2: an old generation: ${what}`);
  if (row.read_generation !== resource?.generation) {
    problems.push(`G-4: it was claimed at another generation: ${what}`);
  }
  return problems;
}

function effectProblems({ before, after }: Change): string[] {
  const problems: string[] = [];
  for (const [id, row] of after.effects) {
    const old = before.effects.get(id);
    if (!old) continue;
    if (row.fingerprint !== old.fingerprint) problems.push(`E-4: another request: ${id}`);
    if (row.state !== old.state && !EFFECT_TRANSITIONS[old.state].includes(row.state)) {
      problems.push(`E-5: ${old.state} became ${row.state}: ${id}`);
    }
    if (row.state !== old.state && row.sequence <= old.sequence) {
      problems.push(`E-5: moved without a number: ${id}`);
    }
    const isCalledAgain = row.attempts !== old.attempts;
    if (isCalledAgain && !(old.state === "indeterminate" && row.state === "pending")) {
      problems.push(`E-2: called again from ${old.state}: ${id}`);
    }
  }
  for (const [id, old] of before.effects) {
    if (!after.effects.has(id) && after.byId.has(old.resource_id)) {
      problems.push(`E-11: an effect was forgotten: ${id}`);
    }
  }
  return problems;
}

const FINAL = ["succeeded", "failed"];

function runProblems({ before, after }: Change): string[] {
  const problems: string[] = [];
  for (const [id, row] of after.runs) {
    const old = before.runs.get(id);
    if (!old) continue;
    const { uid = "" } = after.byId.get(id) ?? {};
    if (FINAL.includes(old.state) && JSON.stringify(old) !== JSON.stringify(row)) {
      problems.push(`R-1: a run that had ended changed: ${uid}`);
    }
    if (row.entries < old.entries) problems.push(`R-2: a journal became shorter: ${uid}`);
    if (row.epochs < old.epochs) problems.push(`F-2: epochs of a run went back: ${uid}`);
  }
  return problems;
}

function count(list: string): number {
  return (JSON.parse(list) as unknown[]).length;
}
