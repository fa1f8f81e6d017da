import type { Graph } from "../model/graph.ts";
import type { AttemptRef, JournalInput, RunEnding } from "../model/run.ts";

/**
 * What the step function knows of a run: small, whatever the length of the run, so that a step costs
 * the same at the first node and at the ten thousandth. Values (inputs, outputs) are the engine's.
 */
export type GraphState = {
  phase: "running" | "stopping" | "compensating" | "ended";
  /** The number that the next entry of a node gets. Depends on the journal alone. */
  nextVisit: number;
  /** Entries of nodes that have not ended. */
  active: readonly Visit[];
  /** Times that each loop edge was taken, by its place; of branches, by their scope. */
  loops: Readonly<Record<string, number>>;
  /** Branches that have arrived at each open join. */
  arrivals: Readonly<Record<string, number>>;
  /** Nodes that ended and know how to be undone, newest first. */
  undo: UndoList;
  /** How the run will end once nothing is active and everything is undone. */
  ending?: RunEnding;
};

export type UndoList = { ref: AttemptRef; rest: UndoList } | undefined;

export type Visit = AttemptRef & {
  /** The branches around it, outermost first, so that joins and loops of branches are told apart. */
  scope: string;
  state: "ready" | "begun" | "ambiguous" | "stopped";
};

/**
 * What happened: a line of the journal, of which the step function reads no values, or a wish that is
 * not kept in it: `pause` lets what runs end and begins nothing more in this pass.
 */
export type GraphEvent = JournalInput | { event: "start" } | { event: "pause" };

/** What the engine is to do now. */
export type GraphCommand =
  /** Make one attempt, after `delayMs`. A checkpoint's attempt is to look for its answer. */
  | ({ do: "execute"; delayMs: number } & AttemptRef)
  /** Call off an attempt that runs; it will be journaled as `aborted`, or as what it came to. */
  | ({ do: "abort" } & AttemptRef)
  /** Journal that the end of this attempt can't be told. */
  | ({ do: "park" } & AttemptRef)
  /** Settle the pass like this. */
  | { do: "end"; ending: RunEnding };

/** One step: pure, total, and the same for the same journal. */
export type Step = (
  graph: Graph,
  state: GraphState,
  event: GraphEvent,
) => { state: GraphState; commands: GraphCommand[] };
