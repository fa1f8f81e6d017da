import type { Graph, GraphNode, Target } from "../model/graph.ts";
import { LIMITS } from "../model/limits.ts";
import type { AttemptRef, RunEnding } from "../model/run.ts";
import type { GraphCommand, GraphState, UndoList, Visit } from "./state.ts";

/** The state before the first event. */
export const INITIAL_STATE: GraphState = {
  phase: "running",
  paused: false,
  nextVisit: 1,
  active: [],
  loops: {},
  arrivals: {},
  undo: undefined,
};

/**
 * One step under way: a copy of the state that the step may change, and the commands so far. Loops
 * and arrivals are replaced, never changed: other states share them.
 */
export type Transition = {
  graph: Graph;
  state: { -readonly [K in keyof GraphState]: GraphState[K] };
  commands: GraphCommand[];
};

export function begin(graph: Graph, state: GraphState): Transition {
  return { graph, state: { ...state }, commands: [] };
}

/** The identity of a visit's attempt, without what the state adds. */
export function refOf({ visit, node, attempt, compensation }: AttemptRef): AttemptRef {
  return { visit, node, attempt, ...(compensation ? { compensation } : {}) };
}

export function nodeOf({ graph }: Transition, { node }: AttemptRef): GraphNode | undefined {
  return graph.nodes[node];
}

export function replace(transition: Transition, visit: Visit, by: Visit | undefined): void {
  const { active } = transition.state;
  transition.state.active =
    by === undefined
      ? active.filter((other) => other !== visit)
      : active.map((other) => (other === visit ? by : other));
}

/** Executes a visit, unless the run begins nothing more. */
export function execute(transition: Transition, visit: Visit): void {
  if (transition.state.paused) return;
  const delayMs = delayOf(nodeOf(transition, visit), visit.failures);
  transition.commands.push({ do: "execute", delayMs, ...refOf(visit) });
}

function delayOf(node: GraphNode | undefined, failures: number): number {
  if (failures === 0 || node?.retry === undefined) return 0;
  const longest = Math.max(node.retry.delayMs, LIMITS.backoffCapMs);
  return Math.min(node.retry.delayMs * 2 ** (failures - 1), longest);
}

/** Makes the visit's next attempt. */
export function again(
  transition: Transition,
  visit: Visit,
  of: { failures?: number; unseen?: true } = {},
): void {
  const { unseen: _unseen, ...known } = visit;
  const next: Visit = { ...known, state: "ready", attempt: visit.attempt + 1, ...of };
  replace(transition, visit, next);
  execute(transition, next);
}

/** Goes on from `visit`, which has ended, along one of its edges. `place` names the edge. */
export function follow(transition: Transition, visit: Visit, place: string, target: Target): void {
  const { state } = transition;
  const loops = placesOf(visit);
  const key = loops + place;
  const taken = state.loops[key] ?? 0;
  if (target.loop !== undefined && taken < target.loop.max) {
    state.loops = { ...state.loops, [key]: taken + 1 };
    enter(transition, target.to, visit.scope);
    return;
  }
  state.loops = without(state.loops, loops);
  enter(transition, target.loop?.exhausted ?? target.to, visit.scope);
}

/** Goes on from `visit`, which has ended, along all branches of its edge at once. */
export function fork(transition: Transition, visit: Visit, branches: readonly string[]): void {
  const { state } = transition;
  state.loops = without(state.loops, placesOf(visit));
  for (const [index, branch] of branches.entries()) {
    enter(transition, branch, `${visit.scope}>${visit.visit}.${index}.${visit.node}`);
  }
}

/** Begins every key of a visit's loop edges. Names hold no space. */
function placesOf({ scope, node }: Visit): string {
  return `${scope} ${node} `;
}

function without(
  counts: Readonly<Record<string, number>>,
  prefix: string,
): Readonly<Record<string, number>> {
  const kept = Object.entries(counts).filter(([key]) => !key.startsWith(prefix));
  return kept.length === Object.keys(counts).length ? counts : Object.fromEntries(kept);
}

function enter(transition: Transition, to: string, scope: string): void {
  const { graph, state } = transition;
  const fork = lastFork(scope);
  const parallel = fork && graph.edges[fork.node]?.parallel;
  if (fork && parallel?.join === to) {
    arrive(transition, fork, parallel);
    return;
  }
  const visit: Visit = {
    visit: state.nextVisit,
    node: to,
    attempt: 1,
    scope,
    state: "ready",
    failures: 0,
  };
  state.nextVisit += 1;
  state.active = [...state.active, visit];
  execute(transition, visit);
}

export { enter };

type Fork = { around: string; id: string; node: string };

/** The innermost fork that a scope is a branch of. */
function lastFork(scope: string): Fork | undefined {
  const at = scope.lastIndexOf(">");
  if (at === -1) return undefined;
  const around = scope.slice(0, at);
  const [visit = "", , ...node] = scope.slice(at + 1).split(".");
  return { around, id: `${around}>${visit}.`, node: node.join(".") };
}

function arrive(
  transition: Transition,
  { around, id }: Fork,
  { branches, join }: { branches: readonly string[]; join: string },
): void {
  const { state } = transition;
  const arrived = (state.arrivals[id] ?? 0) + 1;
  if (arrived < branches.length) {
    state.arrivals = { ...state.arrivals, [id]: arrived };
    return;
  }
  state.arrivals = without(state.arrivals, id);
  state.loops = without(state.loops, id);
  enter(transition, join, around);
}

/** Lets nothing more begin, and calls off what runs, because the run will end like this. */
export function stop(transition: Transition, ending: RunEnding): void {
  const { state } = transition;
  const wasPaused = state.paused;
  state.phase = "stopping";
  state.ending = ending;
  state.paused = false;
  const { active } = state;
  state.active = active.flatMap((visit) => stopped(transition, visit, wasPaused) ?? []);
}

function stopped(transition: Transition, visit: Visit, wasPaused: boolean): Visit | undefined {
  if (visit.state === "ambiguous") return matters(transition, visit) ? visit : undefined;
  if (visit.state === "ready" && visit.unseen && matters(transition, visit)) {
    // Only its end tells whether there is something to undo. In a pause it was called off.
    if (wasPaused) execute(transition, visit);
    return visit;
  }
  const runs = visit.state !== "ready" && nodeOf(transition, visit)?.kind !== "checkpoint";
  transition.commands.push({ do: "abort", begun: runs, ...refOf(visit) });
  return runs ? { ...visit, state: "stopped" } : undefined;
}

/** Whether it must be known, in a run that is being stopped, how this visit ended. */
export function matters(transition: Transition, visit: Visit): boolean {
  const { ending } = transition.state;
  return ending?.state === "failed" && ending.reason === "Cancelled" && canUndo(transition, visit);
}

export function canUndo(transition: Transition, visit: Visit): boolean {
  return nodeOf(transition, visit)?.compensates === true;
}

/** Remembers that `visit` has succeeded and can be undone. */
export function remember(transition: Transition, visit: Visit): void {
  transition.state.undo = { ref: refOf(visit), rest: transition.state.undo };
}

/** Undoes the newest of what is to be undone, or ends the run where nothing is left. */
export function undoNext(transition: Transition): void {
  const { state } = transition;
  const newest: UndoList = state.undo;
  if (newest === undefined) {
    state.phase = "ended";
    return;
  }
  const visit: Visit = {
    ...newest.ref,
    attempt: 1,
    compensation: true,
    scope: "",
    state: "ready",
    failures: 0,
  };
  state.phase = "compensating";
  state.undo = newest.rest;
  state.active = [visit];
  execute(transition, visit);
}
