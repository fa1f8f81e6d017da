import { printable, printableLines } from "../../model/text.ts";
import { formatProblem } from "../../model/problem.ts";
import type { Problem } from "../../model/problem.ts";
import type { ActionReceipt, PlanActionKind } from "../../model/plan.ts";
import type { ShownAction, ShownPlan } from "../schema.ts";
import type { Palette } from "./palette.ts";

/** What renderers are told of the place they write to. */
export type RenderOptions = {
  palette: Palette;
  /** Columns of the terminal; absent where there is none, and then nothing is wrapped. */
  width?: number;
  /** True lists unchanged resources too. */
  all?: boolean;
};

/** The sign of each kind of action, beside its name. */
export const SIGNS: Readonly<Record<PlanActionKind, string>> = {
  create: "+",
  update: "~",
  unchanged: "=",
  move: ">",
  prune: "-",
  conflict: "!",
  invalid: "!",
};

const COLOURS: Readonly<Record<PlanActionKind, keyof Palette>> = {
  create: "green",
  update: "yellow",
  unchanged: "dim",
  move: "cyan",
  prune: "red",
  conflict: "red",
  invalid: "red",
};

const DONE: Readonly<Record<PlanActionKind, string>> = {
  create: "created",
  update: "updated",
  unchanged: "unchanged",
  move: "moved",
  prune: "deleted",
  conflict: "conflict",
  invalid: "invalid",
};

/** What became of an action when its plan was applied, in a word. */
export function receiptWord({ kind, outcome }: ActionReceipt): string {
  if (outcome === "failed") return "failed";
  return outcome === "skipped" && kind === "prune" ? "kept" : DONE[kind];
}

/** `text` in the colour of a kind of action. */
export function inColour(kind: PlanActionKind, text: string, palette: Palette): string {
  return palette[COLOURS[kind]](text);
}

/** `+ create`, in its colour. */
export function signed(kind: PlanActionKind, palette: Palette): string {
  return inColour(kind, `${SIGNS[kind]} ${kind}`, palette);
}

/** The name of an action's resource, safe for a terminal. */
export function nameOf({ resourceManager, key }: ShownAction): string {
  return printable(`${resourceManager} ${key}`);
}

/** The actions worth listing: those with something to say. */
export function listed(plan: ShownPlan, all: boolean | undefined): ShownAction[] {
  return plan.actions.filter(
    ({ kind, desired }) => all === true || kind !== "unchanged" || desired === undefined,
  );
}

/** `2 to create, 1 to update, 1 to prune (held), 5 unchanged`. */
export function countsLine({ counts, prune, problems }: ShownPlan): string {
  const held = prune.state === "clear" ? "" : ` (${prune.state})`;
  const parts: [number, string][] = [
    [counts.create, "to create"],
    [counts.update, "to update"],
    [counts.move, "to move"],
    [counts.prune, `to prune${held}`],
    [counts.conflict, counts.conflict === 1 ? "conflict" : "conflicts"],
    [counts.invalid, "invalid"],
    [counts.unchanged, "unchanged"],
    [problems.length, problems.length === 1 ? "problem" : "problems"],
  ];
  const shown = parts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  return shown.length === 0 ? "no resources" : shown.join(", ");
}

/** Why nothing is pruned, and what to do; nothing where the gate is clear. */
export function gateLines({ prune, counts }: ShownPlan): string[] {
  if (prune.state === "clear") return [];
  const what = counts.prune === 1 ? "1 resource" : `${counts.prune} resources`;
  const lines = [`Prune ${prune.state}: ${what} would go.`];
  lines.push(...prune.reasons.map((reason) => `  ${printable(reason)}`));
  if (prune.state === "held")
    lines.push(`  To confirm exactly this: --confirm-prune ${prune.hash}`);
  return lines;
}

/** Every problem with its lines of source. */
export function problemLines({ problems }: ShownPlan): string[] {
  return problems.flatMap((problem) => [
    printable(formatProblem(problem as Problem)),
    ...(problem.frame === undefined ? [] : printableLines(problem.frame).split("\n")),
  ]);
}

/** The last lines of every text form: gate, problems, counts, plan id. */
export function footer(plan: ShownPlan, palette: Palette): string[] {
  const problems = problemLines(plan);
  return [
    ...(problems.length > 0 ? [palette.red("Problems:"), ...problems, ""] : []),
    ...gateLines(plan).map((line) => palette.yellow(line)),
    `${palette.bold(countsLine(plan))}${palette.dim(` (plan ${plan.id.slice(0, 12)})`)}`,
  ];
}
