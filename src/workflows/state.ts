import type { Graph } from "../model/graph.ts";
import type { AttemptRef, JournalInput, RunEnding } from "../model/run.ts";

/**
 * What the step function knows of a run: small, whatever the length of the run, so that a step costs
 * the same at the first node and at the ten thousandth. Values (inputs, outputs) are the engine's.
 */
export type GraphState = {
  phase: "running" | "stopping" | "compensating" | "ended";
  /** In this pass: nothing more is begun. Not in the journal, so gone after it. */
  paused: boolean;
  /** The number that the next entry of a node gets. Depends on the journal alone. */
  nextVisit: number;
  /** Entries of nodes that have not ended. */
  active: readonly Visit[];
  /** Times in a row that loop edges were taken, by scope and place; none once their node went on. */
  loops: Readonly<Record<string, number>>;
  /** Branches that have arrived at each open join. */
  arrivals: Readonly<Record<string, number>>;
  /** Nodes that ended and know how to be undone, newest first. */
  undo: UndoList;
  /** How the run will end once nothing is active and everything is undone. */
  ending?: RunEnding;
};

export type UndoList = { ref: AttemptRef; rest: UndoList } | undefined;

/**
 * One entry of a node, until it has ended.
 * - `ready`: to be executed; a pure node stays so until its end.
 * - `begun`: its beginning is in the journal; a checkpoint: its question is asked, nothing runs.
 * - `stopped`: it had begun and was called off; what it came to is awaited.
 * - `ambiguous`: a person must say how it ended.
 */
export type Visit = AttemptRef & {
  /** The branches around it, outermost first, so that joins and loops of branches are told apart. */
  scope: string;
  state: "ready" | "begun" | "stopped" | "ambiguous";
  /** Attempts that failed, of those that count against its retries. */
  failures: number;
  /** Its last attempt but this one had begun, and nobody saw how it ended. */
  unseen?: true;
};

/**
 * What happened: a line of the journal, of which the step function reads no values (but passes on the
 * output of a result), or what is not kept in it: `start`, the first event of every fold, and `pause`,
 * which lets what has begun end and begins nothing more in this pass.
 *
 * An engine folds `start` and the journal, dropping the commands; then journals `recovered` unless
 * the journal is empty, and from there obeys the commands. Events about visits, or attempts, that are
 * not active change nothing: a value that came too late is not to be journaled at all.
 */
export type GraphEvent = JournalInput | { event: "start" } | { event: "pause" };

/** What the engine is to do now. */
export type GraphCommand =
  /**
   * Make one attempt, after `delayMs`. For a checkpoint: journal `succeeded` where its answer is there,
   * else `begun`, once.
   */
  | ({ do: "execute"; delayMs: number } & AttemptRef)
  /**
   * Call off an attempt. One that had begun is to be journaled as `aborted`, or as what it came to;
   * one that had not is forgotten, and nothing of it is journaled.
   */
  | ({ do: "abort"; begun: boolean } & AttemptRef)
  /** Journal `ambiguous`: the end of this attempt can't be told. */
  | ({ do: "park" } & AttemptRef)
  /**
   * Settle the pass like this. Where it waits (`waiting`, `interrupted`), answers and resolutions are
   * looked for once more: if one is journaled, the run goes on and this is void.
   */
  | { do: "end"; ending: RunEnding };

/** One step: pure, total, and the same for the same journal. */
export type Step = (
  graph: Graph,
  state: GraphState,
  event: GraphEvent,
) => { state: GraphState; commands: GraphCommand[] };
