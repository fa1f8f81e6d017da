import { printable } from "../../model/text.ts";
import type { ShownAction, ShownPlan } from "../schema.ts";
import { unifiedLines } from "./unified.ts";
import { countsLine, gateLines, listed, nameOf, problemLines, SIGNS } from "./words.ts";

/** A comment on GitHub holds 65,536 characters; a caller may add some of its own. */
export const MARKDOWN_LIMIT = 60_000;

const ROOM_FOR_END = 400;
const LONGEST_BLOCK = 8_000;

/** The plan as a comment on a pull request: counts, then each resource folded up. Bounded in size. */
export function renderMarkdown(plan: ShownPlan, limit: number = MARKDOWN_LIMIT): string {
  const actions = listed(plan, false);
  const parts = [`### pi-workflows plan: ${countsLine(plan)}\n`, ...warnings(plan)];
  let length = parts.join("\n").length;
  let shown = 0;
  for (const action of actions) {
    const text = details(action);
    if (length + text.length > limit - ROOM_FOR_END) break;
    parts.push(text);
    length += text.length + 1;
    shown += 1;
  }
  const rest = actions.length - shown;
  if (rest > 0) parts.push(`_${rest} more of ${actions.length} resources are not shown._\n`);
  parts.push(`<sub>plan \`${plan.id.slice(0, 12)}\`, store revision ${plan.storeRevision}</sub>\n`);
  return parts.join("\n");
}

function warnings(plan: ShownPlan): string[] {
  const problems = problemLines(plan);
  const blocks = [
    ["WARNING", gateLines(plan)],
    ["CAUTION", problems],
  ] as const;
  return blocks
    .filter(([, lines]) => lines.length > 0)
    .map(([kind, lines]) => quote([`[!${kind}]`, ...fenced(cutLines(lines), "text")]));
}

function details(action: ShownAction): string {
  const { kind, reasons } = action;
  const lines = unifiedLines(action).slice(2);
  return [
    `<details><summary>${SIGNS[kind]} ${kind} <code>${escapeHtml(nameOf(action))}</code></summary>\n`,
    ...reasons.map((reason) => `- ${code(printable(reason))}`),
    "",
    ...(lines.length > 0 ? [...fenced(cutLines(lines), "diff"), ""] : []),
    "</details>\n",
  ].join("\n");
}

function cutLines(lines: readonly string[]): string[] {
  const kept: string[] = [];
  let length = 0;
  for (const line of lines) {
    length += line.length + 1;
    if (length > LONGEST_BLOCK) return [...kept, `… ${lines.length - kept.length} more lines`];
    kept.push(line);
  }
  return kept;
}

// A fence longer than any in the text, so that no value can end it.
function fenced(lines: readonly string[], language: string): string[] {
  const fence = "`".repeat(Math.max(3, longestRun(lines.join("\n")) + 1));
  return [`${fence}${language}`, ...lines, fence];
}

function code(text: string): string {
  const ticks = "`".repeat(longestRun(text) + 1);
  return text.includes("`") ? `${ticks} ${text} ${ticks}` : `${ticks}${text}${ticks}`;
}

function longestRun(text: string): number {
  return Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
}

function quote(lines: readonly string[]): string {
  return `${lines.map((line) => `> ${line}`).join("\n")}\n`;
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
