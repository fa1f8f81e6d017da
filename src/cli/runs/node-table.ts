import type { NodeKind } from "../../model/graph.ts";
import type { NodeError } from "../../model/run.ts";
import { printable, printableLines } from "../../model/text.ts";
import { table } from "../columns.ts";
import type { Colors } from "../output.ts";
import { span } from "../time.ts";
import { thrownAt } from "./thrown-at.ts";
import type { AttemptState, NodeAttempt, NodeVisit } from "./visits.ts";

/** What is shown of nodes beside their row. */
export type NodeStyle = {
  inputs: boolean;
  outputs: boolean;
  colors: Colors;
  now: number;
  /** From when starts are counted: the start of the run. */
  since: number;
  /** What people read beside a node's name, by node, where its workflow is known. */
  titles: ReadonlyMap<string, string>;
  /** Canonical path, which places of errors are relative to. */
  project: string;
};

/** Where other workflows begin and end: of interest only where something is wrong with them. */
export function isSeam(kind: NodeKind): boolean {
  return kind === "include" || kind === "exit" || kind === "result";
}

/** Rows shown; of longer runs the latest ones. */
const SHOWN = 200;

const HEADING = ["NODE", "KIND", "STATE", "STARTED", "TOOK", "TITLE"];

/** A row for each entry of a node, with what went wrong, and who answered, under it. */
export function nodeTable(nodes: readonly NodeVisit[], style: NodeStyle): string {
  const told = nodes.filter(({ kind, state }) => !isSeam(kind) || state !== "succeeded");
  const shown = told.slice(-SHOWN);
  if (shown.length === 0) return "none yet";
  const rows = shown.map((visit) => nodeRow(visit, style));
  const [heading = "", ...lines] = table(HEADING, rows, style.colors.bold).split("\n");
  const omitted = told.length - shown.length;
  return [
    ...(omitted > 0
      ? [style.colors.dim(`${omitted} earlier ones are left out; -o json has all`)]
      : []),
    heading,
    ...shown.flatMap((visit, index) => [lines[index] as string, ...notesOf(visit, style)]),
  ].join("\n");
}

function nodeRow(visit: NodeVisit, { colors, now, since, titles }: NodeStyle): string[] {
  const latest = visit.attempts.at(-1);
  const choice = latest?.choice === undefined ? "" : ` → ${printable(latest.choice)}`;
  return [
    printable(visit.node),
    visit.kind,
    paintAttempt(visit.state, colors) + choice,
    `+${span(visit.startedAt - since)}`,
    tookOf(visit, now),
    printable(titles.get(visit.node) ?? ""),
  ];
}

function tookOf({ startedAt, endedAt, state }: NodeVisit, now: number): string {
  if (endedAt !== undefined) return span(endedAt - startedAt);
  return state === "running" || state === "waiting" ? span(now - startedAt) : "";
}

/** An attempt's state in its colour. */
export function paintAttempt(state: AttemptState, colors: Colors): string {
  if (state === "succeeded") return colors.green(state);
  if (state === "failed") return colors.red(state);
  return state === "running" ? colors.cyan(state) : colors.yellow(state);
}

function notesOf({ kind, attempts, undone }: NodeVisit, style: NodeStyle): string[] {
  // What a decision hands over is its choice.
  const shown = kind === "decision" ? { ...style, outputs: false } : style;
  const several = attempts.length > 1;
  const lines = [
    ...attempts.flatMap((attempt) => attemptNotes(attempt, several ? "attempt" : "", shown)),
    ...(undone ?? []).flatMap((attempt) => attemptNotes(attempt, "undo", style)),
  ];
  return lines.map((line) => `    ${line}`);
}

function attemptNotes(attempt: NodeAttempt, label: string, style: NodeStyle): string[] {
  const { state, error, by, input, output } = attempt;
  const said = [
    ...(error ? [`${error.reason}: ${error.message}${placeOf(error, style)}`] : []),
    ...(by === undefined
      ? []
      : [`${state === "released" ? "to be made again, says" : "by"} ${by}`]),
  ].map((text) => printableLines(text).replaceAll("\n", "\n      "));
  const head = label === "" ? said : [headOf(attempt, label, style, said)];
  return [
    ...head,
    ...(style.inputs && input !== undefined ? valueLines("input", input, style.colors) : []),
    ...(style.outputs && output !== undefined ? valueLines("output", output, style.colors) : []),
  ];
}

function placeOf(error: NodeError, { project }: NodeStyle): string {
  const at = thrownAt(error, project);
  return at === undefined ? "" : ` (${at})`;
}

function headOf(
  { attempt, state, startedAt, endedAt }: NodeAttempt,
  label: string,
  { colors }: NodeStyle,
  said: readonly string[],
): string {
  const took = endedAt === undefined ? "" : ` in ${span(endedAt - startedAt)}`;
  const name = label === "undo" && attempt === 1 ? label : `${label} ${attempt}`;
  return `${colors.dim(name)} ${paintAttempt(state, colors)}${took}${said.map((text) => `  ${text}`).join("")}`;
}

/** A value under its name: on one line where it is short. */
function valueLines(name: string, value: unknown, colors: Colors): string[] {
  const short = JSON.stringify(value);
  if (short.length <= LINE) return [`${colors.dim(name)} ${printable(short)}`];
  const lines = printableLines(JSON.stringify(value, null, 2)).split("\n");
  return [colors.dim(name), ...lines.map((line) => `  ${line}`)];
}

/** Columns; longer values are laid out over several lines. */
const LINE = 60;
