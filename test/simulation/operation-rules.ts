import type { Condition } from "../../src/model/condition.ts";
import { EFFECT_TRANSITIONS } from "../../src/model/effect.ts";
import { PASS_ENDS, queueProblems } from "./queue-rules.ts";
import type { Change, EffectRow, ResourceRow, StoreState } from "./store-state.ts";

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

function resourceProblems({ name, before, after }: Change): string[] {
  const problems: string[] = [];
  const say = (row: ResourceRow, what: string): void =>
    void problems.push(`${what}: ${row.manager} ${row.key} ${row.uid}`);
  for (const [uid, row] of after.resources) {
    const old = before.resources.get(uid);
    if (row === old) continue;
    if (row.manager.startsWith("workflow/")) continue;
    if (!old) {
      if (row.generation !== 1) say(row, "D-5: a new resource begins at another generation");
      problems.push(...originProblems(row));
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
    if (isWanted) problems.push(...originProblems(row));
    const isGone = old.state === "live" && row.state === "removed";
    if (isGone && effectsOf(after, row.id).some(({ state }) => state === "pending")) {
      say(row, "E-6: it went, and a call of it is still said to be in flight");
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

/** What a sync declared says where. */
function originProblems({ owner_kind: owner, file, origin, uid }: ResourceRow): string[] {
  const { commit } = JSON.parse(origin ?? "{}") as { commit?: string };
  const isTold = owner !== "sync" || (file !== null && commit !== undefined);
  return isTold ? [] : [`A-13: nothing says which file and commit it is from: ${uid}`];
}

function effectsOf({ effects }: StoreState, id: number): EffectRow[] {
  return [...effects.values()].filter(({ resource_id }) => resource_id === id);
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

function effectProblems({ before, after }: Change): string[] {
  const problems: string[] = [];
  for (const [id, row] of after.effects) {
    const old = before.effects.get(id);
    if (!old || row === old) continue;
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
    const isOpen = old.state === "pending" || old.state === "indeterminate";
    if (!after.effects.has(id) && (isOpen || after.byId.has(old.resource_id))) {
      problems.push(`D-7, E-11: an effect was forgotten: ${id}`);
    }
  }
  return problems;
}

const FINAL = ["succeeded", "failed"];

function runProblems({ before, after }: Change): string[] {
  const problems: string[] = [];
  for (const [id, row] of after.runs) {
    const old = before.runs.get(id);
    if (!old || row === old) continue;
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
