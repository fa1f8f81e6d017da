import { hasEnded, type RunState, type RunSummary } from "../../model/run.ts";
import { printable } from "../../model/text.ts";
import { table } from "../columns.ts";
import type { Colors } from "../output.ts";
import { age, span } from "../time.ts";
import { shortId } from "./ids.ts";

/** How a list of runs is laid out. */
export type RunTableStyle = { wide: boolean; projects: boolean; colors: Colors; now: number };

const HEADING = ["RUN", "WORKFLOW", "STATE", "NODE", "TOOK", "AGE", "CHILD OF"];
const WIDE_HEADING = ["ATTEMPT", "BY", "ID", "MESSAGE"];

/** The table that `runs` prints. */
export function runTable(runs: readonly RunSummary[], style: RunTableStyle): string {
  const rows = runs.map((run) => runRow(run, style));
  return table(runHeading(style), rows, style.colors.bold);
}

/** The child runs of one resource: by which request, and why they are as they are. */
export function childTable(
  runs: readonly RunSummary[],
  { colors, now }: Pick<RunTableStyle, "colors" | "now">,
): string {
  const rows = runs.map((run) => [
    shortId(run.runId),
    printable(run.workflow),
    stateOf(run, colors),
    tookOf(run, now),
    age(now - run.createdAt),
    run.attempt > 1 ? String(run.attempt) : "",
    printable(run.parent?.requestKey ?? ""),
    printable(run.message ?? ""),
  ]);
  const heading = ["RUN", "WORKFLOW", "STATE", "TOOK", "AGE", "ATTEMPT", "REQUEST", "MESSAGE"];
  return table(heading, rows, colors.bold);
}

/** The titles of its columns. */
export function runHeading({ projects, wide }: RunTableStyle): string[] {
  return [...(projects ? ["PROJECT"] : []), ...HEADING, ...(wide ? WIDE_HEADING : [])];
}

/** The cells of one of its rows. */
export function runRow(run: RunSummary, style: RunTableStyle): string[] {
  const { projects, wide, colors, now } = style;
  const cells = [
    ...(projects ? [printable(run.project)] : []),
    shortId(run.runId),
    printable(run.workflow),
    stateOf(run, colors),
    printable(run.state === "succeeded" ? "" : (run.node ?? "")),
    tookOf(run, now),
    age(now - run.createdAt),
    printable(run.parent ? `${run.parent.resourceManager} ${run.parent.key}` : ""),
  ];
  if (!wide) return cells;
  const more = [String(run.attempt), run.startedBy, run.runId, run.message ?? ""];
  return [...cells, ...more.map(printable)];
}

/** A run's state with its reason, as people read it: `waiting (Checkpoint)`. */
export function stateOf(run: RunSummary, colors: Colors): string {
  const isOpen = !hasEnded(run);
  const about = [
    ...(run.reason ? [run.reason] : []),
    ...(isOpen && run.cancelling ? ["cancelling"] : []),
    ...(isOpen && run.paused && run.reason !== "Paused" ? ["paused"] : []),
  ];
  const text = about.length === 0 ? run.state : `${run.state} (${about.join(", ")})`;
  return paintState(run.state, colors)(text);
}

function paintState(state: RunState, colors: Colors): (text: string) => string {
  if (state === "succeeded") return colors.green;
  if (state === "failed") return colors.red;
  if (state === "waiting" || state === "interrupted") return colors.yellow;
  return state === "running" ? colors.cyan : (text) => text;
}

/** From its start to its end, or until now. */
export function tookOf(run: RunSummary, now: number): string {
  return run.startedAt === undefined ? "" : span((run.endedAt ?? now) - run.startedAt);
}
