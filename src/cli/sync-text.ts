import { formatProblem, type Problem } from "../model/manifest.ts";
import { printable } from "../model/text.ts";
import type {
  PendingPrune,
  PruneItem,
  StoredSyncSet,
  SyncAttempt,
  SyncCondition,
  SyncRevision,
  SyncSource,
} from "../model/sync.ts";
import { SYNC_CONDITIONS } from "../model/sync.ts";
import type { SyncActivity } from "../server/protocol.ts";
import { columns, table } from "./columns.ts";
import type { Colors } from "./output.ts";
import { lasting, relative, span } from "./time.ts";

/** A set as it is stored, with what the server is doing about it where that is of interest. */
export type ShownSync = StoredSyncSet & { activity?: SyncActivity };

/** How it is painted, and from when ages count. */
export type SyncPaint = { colors: Colors; now: number };

/** Problems shown of one report; the rest is counted. */
const SHOWN_PROBLEMS = 10;

/** 0 in step, 1 not, 3 where a prune waits: what scripts act on. */
export function exitCodeOf({ report }: StoredSyncSet): 0 | 1 | 3 {
  if (report.pendingPrune) return 3;
  return conditionOf(report.conditions, SYNC_CONDITIONS.synced)?.status === true ? 0 : 1;
}

/** A sync set for people: where it reads, how it stands, and what to do next. */
export function describeSync(sync: ShownSync, paint: SyncPaint): string {
  const { set, report, activity } = sync;
  const head = columns([
    ["project", printable(set.project)],
    ["source", `${describeSource(set.source)}, ${set.roots.map(printable).join(", ")}`],
    ["prune", set.prune ? "yes" : "no"],
    ["enabled", `${relative(set.enabledAt, paint.now)} by ${printable(set.enabledBy)}`],
    ...attemptRow("looked at", report.attempted, paint),
    ...attemptRow("in force", report.applied, paint),
    ...(activity ? [["now", describeActivity(activity, paint.now)]] : []),
  ]);
  const sections = [
    head,
    conditionsText(report.conditions, paint),
    problemsText("Problems", report.problems),
    problemsText("Problems of workflows", report.workflowProblems ?? []),
    listText("Conflicts", report.conflicts),
    listText(
      "Changed by hand",
      report.drift.map(
        (drift) =>
          `${drift.resourceManager} ${drift.key}: ${drift.fields.join(", ") || "as a whole"}, by ${drift.by} (${drift.place.file}:${drift.place.line})`,
      ),
    ),
    report.pendingPrune ? describePendingPrune(report.pendingPrune, paint) : "",
  ];
  return sections.filter((section) => section !== "").join("\n\n");
}

function describeSource(source: SyncSource): string {
  return source.kind === "committed"
    ? `commits of branch ${printable(source.branch)}`
    : "files as they are saved";
}

/** `a1b2c3d4e5f6 Ada: add a spec`. */
export function describeRevision(revision: SyncRevision): string {
  const author = revision.author?.replace(/ <[^<>]*>$/, "");
  const note = revision.subject === undefined ? "" : ` ${author}: ${revision.subject}`;
  return printable(`${revision.id.slice(0, 12)}${note}`);
}

function attemptRow(name: string, attempt: SyncAttempt | undefined, paint: SyncPaint): string[][] {
  if (!attempt) return [[name, "nothing yet"]];
  const when = relative(attempt.at, paint.now);
  const took = `${attempt.outcome} in ${span(attempt.durationMs)}`;
  const counts = attempt.counts ? `, ${describeCounts(attempt.counts)}` : "";
  const error = attempt.error ? `: ${printable(attempt.error)}` : "";
  return [[name, `${describeRevision(attempt.revision)} (${when}, ${took}${counts}${error})`]];
}

function describeCounts(counts: NonNullable<SyncAttempt["counts"]>): string {
  const named = Object.entries(counts).filter(([, count]) => count > 0);
  return named.map(([kind, count]) => `${count} ${kind}`).join(", ") || "nothing declared";
}

function describeActivity({ state, revision, retryAt }: SyncActivity, now: number): string {
  const about = revision === undefined ? "" : ` ${revision.slice(0, 12)}`;
  const retry = retryAt === undefined ? "" : `, again ${relative(retryAt, now)}`;
  return state === "waiting" ? "waiting for a change" : `${state}${about}${retry}`;
}

/** Whether it is in step, and every condition that is not as it should be. */
function conditionsText(conditions: readonly SyncCondition[], { colors, now }: SyncPaint): string {
  const shown = conditions.filter(
    (condition) => condition.type === SYNC_CONDITIONS.synced || !isGood(condition),
  );
  if (shown.length === 0) return "";
  const rows = shown.map((condition) => [
    condition.type,
    paintCondition(condition, colors),
    condition.reason,
    relative(condition.lastTransitionTime, now),
    condition.revision?.slice(0, 12) ?? "",
    printable(condition.message ?? ""),
  ]);
  const heading = ["CONDITION", "STATUS", "REASON", "SINCE", "REVISION", "MESSAGE"];
  return table(heading, rows, colors.bold);
}

// Of these, true is good; of the others it is what a person should see.
const GOOD: readonly string[] = [
  SYNC_CONDITIONS.synced,
  SYNC_CONDITIONS.sourceValid,
  SYNC_CONDITIONS.watching,
];

function paintCondition(condition: SyncCondition, colors: Colors): string {
  const word = condition.status ? "True" : "False";
  return isGood(condition) ? colors.green(word) : colors.yellow(word);
}

function isGood({ type, status }: SyncCondition): boolean {
  return GOOD.includes(type) === status;
}

function conditionOf(
  conditions: readonly SyncCondition[],
  type: string,
): SyncCondition | undefined {
  return conditions.find((condition) => condition.type === type);
}

function problemsText(title: string, problems: readonly Problem[]): string {
  const shown = problems.slice(0, SHOWN_PROBLEMS).map(formatProblem);
  const rest = problems.length - shown.length;
  return listText(title, rest > 0 ? [...shown, `and ${rest} more (-o json)`] : shown);
}

function listText(title: string, lines: readonly string[]): string {
  if (lines.length === 0) return "";
  return [title, ...lines.map((line) => `  ${printable(line)}`)].join("\n");
}

/** A prune that waits: its reasons, each resource with its own, and what to do. */
export function describePendingPrune(prune: PendingPrune, { colors, now }: SyncPaint): string {
  const next =
    prune.hash === undefined
      ? "Nothing is deleted until that is mended."
      : `To delete exactly these: pi-workflows sync confirm-prune ${prune.hash.slice(0, 12)}`;
  return [
    colors.yellow(`Prune ${prune.state} ${lasting(prune.since, now)}`),
    ...prune.reasons.map((reason) => `  ${printable(reason)}`),
    ...itemLines(prune.items),
    next,
  ].join("\n");
}

/** Each resource of a prune with its reason and what depends on it. */
export function itemLines(items: readonly PruneItem[]): string[] {
  return items.map((item) => {
    const dependents =
      item.dependents.length === 0 ? "" : ` (${item.dependents.join(", ")} depends on it)`;
    return `  - ${printable(`${item.resourceManager} ${item.key}: ${item.reason}${dependents}`)}`;
  });
}
