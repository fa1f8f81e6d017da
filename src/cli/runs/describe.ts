import { hasEnded, type StoredRun } from "../../model/run.ts";
import type { RunAttempt } from "../../store/runs.ts";
import { printable, printableLines } from "../../model/text.ts";
import { columns } from "../columns.ts";
import type { Colors } from "../output.ts";
import { instant, relative } from "../time.ts";
import type { RunDetails } from "./details.ts";
import { shortId } from "./ids.ts";
import { nodeTable } from "./node-table.ts";
import { stateOf, tookOf } from "./table.ts";

/** What is to be shown of a run, and how. */
export type RunStyle = {
  inputs: boolean;
  outputs: boolean;
  colors: Colors;
  now: number;
  /** What to do about it. */
  advice: readonly string[];
};

/** A run for people: its head, its nodes, its result, and what to do. */
export function describeRun(
  { run, nodes, workflow, attempts }: RunDetails,
  style: RunStyle,
): string {
  const { colors, now, advice } = style;
  const titles = new Map(
    Object.entries(workflow?.graph.nodes ?? {}).map(([node, { title = "" }]) => [node, title]),
  );
  const since = run.startedAt ?? run.createdAt;
  const sections: [string, string][] = [
    ...(style.inputs ? [["Input", json(run.input)] as [string, string]] : []),
    ["Nodes", nodeTable(nodes, { ...style, since, titles, project: run.project })],
    ...(run.output === undefined ? [] : [["Output", json(run.output)] as [string, string]]),
  ];
  return [
    `${colors.bold(printable(`${run.workflow} ${shortId(run.runId)}`))}  ${titleOf(run, colors, now)}`,
    indent(columns(headRows(run, attempts, now))),
    ...sections.flatMap(([title, body]) => ["", colors.bold(title), indent(body)]),
    ...(advice.length > 0 ? ["", ...adviceLines(advice)] : []),
  ].join("\n");
}

/** `succeeded in 12s by exit done`. */
export function titleOf(run: StoredRun, colors: Colors, now: number): string {
  const state = stateOf(run, colors);
  if (!hasEnded(run)) return state;
  const took = tookOf(run, now);
  const exit = run.exit === undefined ? "" : ` by exit ${printable(run.exit)}`;
  return `${state}${took ? ` in ${took}` : ""}${exit}`;
}

/** Sentences about now, each on a line of its own. */
export function adviceLines(advice: readonly string[]): string[] {
  return advice.map((text, index) => {
    // A question may have several lines.
    const lines = printableLines(text).replace(/\n(?=.)/g, "\n     ");
    return `${index === 0 ? "Now: " : "     "}${lines}`;
  });
}

function headRows(run: StoredRun, attempts: readonly RunAttempt[], now: number): string[][] {
  const { parent } = run;
  const rows: [string, string | undefined][] = [
    ["id", run.runId],
    ["started", `${instant(run.createdAt)} (${relative(run.createdAt, now)}) by ${run.startedBy}`],
    ["child of", parent && `${parent.resourceManager} ${parent.key}, request ${parent.requestKey}`],
    ["attempt", attemptOf(run, attempts)],
    ["deadline", hasEnded(run) ? undefined : deadlineOf(run, now)],
    ["code", run.digest.slice(0, 12)],
    ["project", run.project],
  ];
  return rows.flatMap(([name, text]) => (text === undefined ? [] : [[name, printable(text)]]));
}

/** `2 of 3, after 1f2e3d4c; tried again as 89abcdef`. */
function attemptOf({ attempt }: StoredRun, attempts: readonly RunAttempt[]): string | undefined {
  if (attempts.length < 2) return attempt > 1 ? String(attempt) : undefined;
  const idOf = (wanted: number) => attempts.find((one) => one.attempt === wanted)?.runId;
  const [before, after] = [idOf(attempt - 1), idOf(attempt + 1)];
  return [
    `${attempt}${before === undefined ? "" : `, after ${shortId(before)}`}`,
    ...(after === undefined ? [] : [`tried again as ${shortId(after)}`]),
  ].join("; ");
}

function deadlineOf({ deadlineAt }: StoredRun, now: number): string {
  return `${deadlineAt > now ? "" : "passed "}${relative(deadlineAt, now)}`;
}

/** A value as people read it. */
export function json(value: unknown): string {
  return printableLines(JSON.stringify(value ?? null, null, 2));
}

function indent(text: string): string {
  return text.replace(/^(?=.)/gm, "  ");
}
