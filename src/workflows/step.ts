import type { JournalInput, RunEnding } from "../model/run.ts";
import type { GraphEvent, GraphState, Step, Visit } from "./state.ts";
import {
  again,
  begin,
  canUndo,
  enter,
  execute,
  follow,
  fork,
  matters,
  nodeOf,
  refOf,
  remember,
  replace,
  stop,
  type Transition,
  undoNext,
} from "./transition.ts";

export { INITIAL_STATE } from "./transition.ts";

type AboutVisit = Extract<JournalInput, { visit: number }>;

/**
 * Moves a run on by one event. A run goes through its phases in one direction:
 *
 * - `running`: nodes are entered along the edges.
 * - `stopping`: the run has come to its result, a node failed for good, or it is cancelled or past its
 *   deadline: nothing is begun, and what runs is called off and awaited.
 * - `compensating`: of a run that was cancelled or ran out of time, what succeeded is undone, the
 *   newest first, one after another.
 * - `ended`.
 *
 * Costs as much as there are visits active, whatever the size of the graph and the age of the run.
 */
export const step: Step = (graph, state, event) => {
  const transition = begin(graph, state);
  if (!apply(transition, event)) return { state, commands: [] };
  moveOn(transition);
  return { state: transition.state, commands: transition.commands };
};

/** Folds the event into the state; false where it changes nothing. */
function apply(transition: Transition, event: GraphEvent): boolean {
  const { graph, state } = transition;
  switch (event.event) {
    case "start":
      if (state.nextVisit > 1) return false;
      enter(transition, graph.startAt, "");
      return true;
    case "pause":
      return pause(transition);
    case "recovered":
      recover(transition);
      return true;
    case "cancel":
      return end(transition, "Cancelled", `cancelled by ${event.by}`);
    case "deadline":
      return end(transition, "DeadlineExceeded", "the run did not end within its deadline");
    default:
      return applyToVisit(transition, event);
  }
}

function end(
  transition: Transition,
  reason: "Cancelled" | "DeadlineExceeded",
  message: string,
): boolean {
  if (transition.state.phase !== "running") return false;
  stop(transition, { state: "failed", reason, message });
  return true;
}

function applyToVisit(transition: Transition, event: AboutVisit): boolean {
  const visit = transition.state.active.find(
    (other) =>
      other.visit === event.visit &&
      other.attempt === event.attempt &&
      other.node === event.node &&
      other.compensation === event.compensation,
  );
  if (visit === undefined) return false;
  switch (event.event) {
    case "begun":
      if (visit.state !== "ready") return false;
      replace(transition, visit, { ...visit, state: "begun" });
      return true;
    case "succeeded":
      replace(transition, visit, undefined);
      succeed(transition, visit, event);
      return true;
    case "failed":
      fail(transition, visit, event);
      return true;
    case "aborted":
      callOff(transition, visit);
      return true;
    case "ambiguous":
      blur(transition, visit);
      return true;
    case "released":
      release(transition, visit);
      return true;
  }
}

type Of<TEvent extends JournalInput["event"]> = Extract<JournalInput, { event: TEvent }>;

function succeed(transition: Transition, visit: Visit, event: Of<"succeeded">): void {
  if (visit.compensation) return;
  if (canUndo(transition, visit)) remember(transition, visit);
  if (transition.state.phase !== "running") return;
  if (nodeOf(transition, visit)?.kind === "result") {
    const exit = visit.node.slice("end:".length);
    stop(transition, { state: "succeeded", exit, output: event.output ?? null });
    return;
  }
  const edge = transition.graph.edges[visit.node];
  if (edge?.parallel !== undefined) fork(transition, visit, edge.parallel.branches);
  else {
    const place = event.choice ?? "next";
    const target = edge?.cases === undefined ? edge?.next : edge.cases[place];
    if (target !== undefined) follow(transition, visit, place, target);
    else failRun(transition, visit, `no edge leads on from it by ${JSON.stringify(place)}`);
  }
}

function fail(transition: Transition, visit: Visit, event: Of<"failed">): void {
  const { phase } = transition.state;
  const times = nodeOf(transition, visit)?.retry?.times ?? 0;
  const goesOn = phase === "running" || visit.compensation === true;
  if (goesOn && event.retryable && visit.failures < times) {
    again(transition, visit, { failures: visit.failures + 1 });
    return;
  }
  replace(transition, visit, undefined);
  if (visit.compensation) note(transition, `${visit.node} could not be undone`, event);
  if (phase !== "running") return;
  const failure = transition.graph.edges[visit.node]?.failure;
  if (failure !== undefined) follow(transition, visit, "failure", failure);
  else failRun(transition, visit, event.error.message, event.error.reason);
}

function failRun(transition: Transition, { node }: Visit, why: string, reason?: string): void {
  stop(transition, {
    state: "failed",
    reason: reason === "InvalidOutput" && node.startsWith("end:") ? reason : "NodeFailed",
    message: `${node}: ${why}`,
    node,
  });
}

/** Adds to what the run will end with. */
function note({ state }: Transition, what: string, { error }: Of<"failed">): void {
  if (state.ending === undefined || state.ending.state === "succeeded") return;
  const message = `${state.ending.message}; ${what}: ${error.message}`;
  state.ending = { ...state.ending, message };
}

/** An attempt was called off: it is made again, unless the run is being stopped. */
function callOff(transition: Transition, visit: Visit): void {
  if (transition.state.phase === "stopping") replace(transition, visit, undefined);
  else if (isManual(transition, visit)) park(transition, visit);
  else again(transition, visit);
}

function blur(transition: Transition, visit: Visit): void {
  const isAwaited = transition.state.phase !== "stopping" || matters(transition, visit);
  replace(transition, visit, isAwaited ? { ...visit, state: "ambiguous" } : undefined);
}

function release(transition: Transition, visit: Visit): void {
  if (transition.state.phase === "stopping") replace(transition, visit, undefined);
  else again(transition, visit);
}

function isManual(transition: Transition, visit: Visit): boolean {
  return nodeOf(transition, visit)?.safety === "manual";
}

function park(transition: Transition, visit: Visit): void {
  transition.commands.push({ do: "park", ...refOf(visit) });
}

/** What has not begun is called off, and begins in a later pass. */
function pause(transition: Transition): boolean {
  const { state } = transition;
  if (state.phase !== "running" || state.paused) return false;
  state.paused = true;
  for (const visit of state.active) {
    if (visit.state === "ready") {
      transition.commands.push({ do: "abort", begun: false, ...refOf(visit) });
    }
  }
  return true;
}

/** A new runner: nothing of the old one runs, and the end of what had begun is not known. */
function recover(transition: Transition): void {
  transition.state.paused = false;
  for (const visit of transition.state.active) recoverVisit(transition, visit);
}

function recoverVisit(transition: Transition, visit: Visit): void {
  if (visit.state === "ready") execute(transition, visit);
  else if (visit.state === "ambiguous" || isQuestion(transition, visit)) return;
  else if (transition.state.phase === "stopping" && !matters(transition, visit)) {
    replace(transition, visit, undefined);
  } else if (isManual(transition, visit)) park(transition, visit);
  // Of a run that is being cancelled too: only so is it known whether there is something to undo.
  else again(transition, visit, { unseen: true });
}

function isQuestion(transition: Transition, visit: Visit): boolean {
  return visit.state === "begun" && nodeOf(transition, visit)?.kind === "checkpoint";
}

/** Where nothing is left to wait for: undoes, ends, or says what the run waits for. */
function moveOn(transition: Transition): void {
  const { state, commands } = transition;
  const { active } = state;
  if (active.length === 0 && state.phase === "running") {
    stop(transition, { state: "failed", reason: "NodeFailed", message: "no edge leads on" });
  }
  if (active.length === 0) {
    if (isCalledOff(state.ending)) undoNext(transition);
    else state.phase = "ended";
  }
  if (state.phase === "ended") {
    if (state.ending !== undefined) commands.push({ do: "end", ending: state.ending });
    return;
  }
  const ending = waitingFor(transition);
  if (ending !== undefined) commands.push({ do: "end", ending });
}

function isCalledOff(ending: RunEnding | undefined): boolean {
  return (
    ending?.state === "failed" &&
    (ending.reason === "Cancelled" || ending.reason === "DeadlineExceeded")
  );
}

/** How the pass ends where nothing can go on without a person; undefined where something can. */
function waitingFor(transition: Transition): RunEnding | undefined {
  const { active, paused } = transition.state;
  const waits = (visit: Visit): boolean =>
    visit.state === "ambiguous" ||
    (paused && visit.state === "ready") ||
    isQuestion(transition, visit);
  if (!active.every(waits)) return undefined;
  if (paused) return { state: "waiting", reason: "Paused", message: "the run is paused" };
  const ambiguous = active.find(({ state }) => state === "ambiguous");
  if (ambiguous !== undefined) {
    return {
      state: "interrupted",
      reason: "Ambiguous",
      message: `it is not known how attempt ${ambiguous.attempt} of ${ambiguous.node} ended`,
      node: ambiguous.node,
    };
  }
  const [question] = active;
  return {
    state: "waiting",
    reason: "Checkpoint",
    message: `${question?.node ?? "a checkpoint"} waits for an answer`,
    ...(question === undefined ? {} : { node: question.node }),
  };
}

/** The state that a journal comes to. */
export function fold(
  graph: Parameters<Step>[0],
  state: GraphState,
  events: Iterable<GraphEvent>,
): GraphState {
  let folded = state;
  for (const event of events) folded = step(graph, folded, event).state;
  return folded;
}
