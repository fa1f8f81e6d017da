import type { Json } from "../../model/canonical.ts";
import type { NodeKind } from "../../model/graph.ts";
import type { AttemptRef, JournalEntry, NodeError, RunSummary } from "../../model/run.ts";

/** How an attempt stands. */
export const ATTEMPT_STATES = [
  "running",
  "waiting",
  "succeeded",
  "failed",
  "aborted",
  "ambiguous",
  "lost",
  "released",
] as const;
export type AttemptState = (typeof ATTEMPT_STATES)[number];

/** The same in words, for `docs/states.md`. */
export const ATTEMPT_WORDS: Readonly<Record<AttemptState, string>> = {
  running: "It has begun and not ended.",
  waiting: "A checkpoint without an answer.",
  succeeded: "It handed over its output, or a person said so.",
  failed: "It failed; where attempts are left another one follows.",
  aborted: "It was called off: by a pause, a cancel, or the failure of a branch beside it.",
  ambiguous:
    "Its runner ended in the middle of it, and it must not be done twice: a person says how it ended.",
  lost: "Its runner ended in the middle of it; as the run goes on, it is made again.",
  released: "A person said that it was not done, and is to be made again.",
};

/** One attempt of a node, or of its compensation. */
export type NodeAttempt = {
  attempt: number;
  state: AttemptState;
  /** Epoch milliseconds. */
  startedAt: number;
  endedAt?: number;
  error?: NodeError;
  /** The choice of a decision. */
  choice?: string;
  /** Who answered, or settled what could not be told. */
  by?: string;
  input?: Json;
  output?: Json;
};

/** One entry of a node, as the journal tells it; its state is that of its latest attempt. */
export type NodeVisit = {
  visit: number;
  node: string;
  kind: NodeKind;
  state: AttemptState;
  startedAt: number;
  endedAt?: number;
  attempts: NodeAttempt[];
  /** Present where it was undone, or that was tried: the attempts at that. */
  undone?: NodeAttempt[];
};

/** The entries of nodes that a journal tells of, in the order in which they began. */
export function visitsOf(journal: readonly JournalEntry[]): NodeVisit[] {
  const visits = new Map<number, NodeVisit>();
  for (const entry of journal) {
    if (entry.event === "recovered") loseUnended(visits.values());
    if (!("visit" in entry)) continue;
    const visit = visitOf(visits, entry);
    note(attemptOf(visit, entry), entry, visit.kind);
    if (!entry.compensation) summarize(visit);
  }
  return [...visits.values()];
}

/**
 * The same of a run as it stands: with its end ends what was open, though no line of its journal says
 * so, and where it is interrupted, nothing of it runs.
 */
export function visitsOfRun(
  journal: readonly JournalEntry[],
  { state: runState, endedAt }: Pick<RunSummary, "state" | "endedAt">,
): NodeVisit[] {
  const nodes = visitsOf(journal);
  if (runState === "interrupted") loseUnended(nodes);
  if (endedAt === undefined) return nodes;
  const isOpen = ({ state }: { state: AttemptState }) => state === "running" || state === "waiting";
  return nodes.map((visit) =>
    isOpen(visit)
      ? {
          ...visit,
          state: "aborted",
          endedAt,
          attempts: visit.attempts.map((attempt) =>
            isOpen(attempt) ? { ...attempt, state: "aborted", endedAt } : attempt,
          ),
        }
      : visit,
  );
}

type AttemptEntry = Extract<JournalEntry, AttemptRef>;

function visitOf(visits: Map<number, NodeVisit>, entry: AttemptEntry): NodeVisit {
  const known = visits.get(entry.visit);
  if (known) return known;
  const made: NodeVisit = {
    visit: entry.visit,
    node: entry.node,
    kind: "kind" in entry ? entry.kind : "action",
    state: "running",
    startedAt: beginOf(entry),
    attempts: [],
  };
  visits.set(entry.visit, made);
  return made;
}

function beginOf(entry: AttemptEntry): number {
  return "startedAt" in entry ? entry.startedAt : entry.at;
}

function attemptOf(visit: NodeVisit, entry: AttemptEntry): NodeAttempt {
  const attempts = entry.compensation ? (visit.undone ??= []) : visit.attempts;
  const known = attempts.find(({ attempt }) => attempt === entry.attempt);
  if (known) return known;
  const made: NodeAttempt = {
    attempt: entry.attempt,
    state: "running",
    startedAt: beginOf(entry),
  };
  attempts.push(made);
  return made;
}

function note(attempt: NodeAttempt, entry: AttemptEntry, kind: NodeKind): void {
  if (entry.event === "begun") {
    attempt.state = kind === "checkpoint" && !entry.compensation ? "waiting" : "running";
  } else {
    attempt.state = entry.event;
    if (entry.event !== "ambiguous") attempt.endedAt = entry.at;
  }
  if ("input" in entry && entry.input !== undefined) attempt.input = entry.input;
  if (entry.event === "failed") attempt.error = entry.error;
  if ("by" in entry && entry.by !== undefined) attempt.by = entry.by;
  if (entry.event !== "succeeded") return;
  if (entry.output !== undefined) attempt.output = entry.output;
  if (entry.choice !== undefined) attempt.choice = entry.choice;
}

/** A question stays open whoever runs the run; of all else that ran, nobody saw the end. */
function loseUnended(visits: Iterable<NodeVisit>): void {
  for (const visit of visits) {
    for (const attempt of [...visit.attempts, ...(visit.undone ?? [])]) {
      if (attempt.state === "running") attempt.state = "lost";
    }
    summarize(visit);
  }
}

function summarize(visit: NodeVisit): void {
  const latest = visit.attempts.at(-1);
  if (!latest) return;
  visit.state = latest.state;
  if (latest.endedAt === undefined) delete visit.endedAt;
  else visit.endedAt = latest.endedAt;
}
