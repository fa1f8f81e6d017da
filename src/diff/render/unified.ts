import { createTwoFilesPatch } from "diff";
import { printable } from "../../model/text.ts";
import type { ShownAction, ShownPlan } from "../schema.ts";
import type { Palette } from "./palette.ts";
import { footer, inColour, listed, nameOf, SIGNS } from "./words.ts";
import type { RenderOptions } from "./words.ts";

/** Lines of context around each difference. */
export const CONTEXT_LINES = 3;

// The search for the shortest difference takes time in the square of this; past it nobody reads on.
const MOST_EDITS = 2_000;

/** Each resource as a unified diff of its manifest, as `diff -u` prints it. */
export function renderUnified(
  plan: ShownPlan,
  options: RenderOptions & { context?: number },
): string {
  const blocks = listed(plan, options.all).map((action) =>
    [
      inColour(
        action.kind,
        `# ${SIGNS[action.kind]} ${action.kind} ${nameOf(action)}`,
        options.palette,
      ),
      ...action.reasons.map((reason) => options.palette.dim(`#   ${printable(reason)}`)),
      ...unifiedLines(action, options.context).map((line) => colour(line, options.palette)),
    ].join("\n"),
  );
  const end = footer(plan, options.palette).map((line) => (line === "" ? "" : `# ${line}`));
  return `${[...blocks, end.join("\n")].join("\n\n")}\n`;
}

/** The unified diff of one action, or nothing where no manifest changes. */
export function unifiedLines(action: ShownAction, context: number = CONTEXT_LINES): string[] {
  const before = textBefore(action);
  const after = textAfter(action);
  if (before === after) return [];
  const name = nameOf(action);
  const patch = createTwoFilesPatch(
    before === "" ? "/dev/null" : `stored/${name}`,
    after === "" ? "/dev/null" : `declared/${name}`,
    before,
    after,
    undefined,
    undefined,
    { context, maxEditLength: MOST_EDITS },
  );
  if (patch === undefined) return [`… more than ${MOST_EDITS} lines differ`];
  // Without the separator line, which says nothing.
  return patch.trimEnd().split("\n").slice(1).map(printable);
}

// What an update changes beside the spec is undone from its changes: `labels.team`, `suspend`.
function textBefore({ kind, current, desired, changes = [] }: ShownAction): string {
  if (kind !== "update" || !current) return "";
  const metadata = changes.filter(({ path }) => !isOfSpec(path));
  return pretty(current.spec ?? desired?.spec, metadata, "before");
}

function textAfter({ kind, desired, changes = [] }: ShownAction): string {
  if ((kind !== "create" && kind !== "update") || !desired) return "";
  const metadata = changes.filter(({ path }) => !isOfSpec(path));
  return pretty(desired.spec, metadata, "after");
}

function pretty(
  spec: unknown,
  metadata: NonNullable<ShownAction["changes"]>,
  side: "before" | "after",
): string {
  const members = metadata.flatMap((change) =>
    change[side] === undefined ? [] : [[change.path, change[side]] as const],
  );
  return `${JSON.stringify({ ...Object.fromEntries(members), spec }, null, 2)}\n`;
}

function isOfSpec(path: string): boolean {
  return /^spec(?![\w$])/.test(path);
}

function colour(line: string, palette: Palette): string {
  if (line.startsWith("+++") || line.startsWith("---")) return palette.bold(line);
  if (line.startsWith("@@")) return palette.cyan(line);
  if (line.startsWith("+")) return palette.green(line);
  return line.startsWith("-") ? palette.red(line) : line;
}
