import type { Condition } from "../model/condition.ts";
import type { StoredEffect } from "../model/effect.ts";
import type { ResourceEvent } from "../model/event.ts";
import { isWorkflowLane } from "../model/graph.ts";
import type { PassRecord } from "../model/pass.ts";
import { printable } from "../model/text.ts";
import { table } from "./columns.ts";
import type { Colors } from "./output.ts";
import { paintReady, wordOf } from "./readiness.ts";
import { shortId } from "./runs/ids.ts";
import { instant, relative, span } from "./time.ts";

/** How a table is painted, and from when its ages count. */
export type Paint = { colors: Colors; now: number };

export function conditionTable(conditions: readonly Condition[], paint: Paint): string {
  const rows = conditions.map((condition) => [
    condition.type,
    paintReady(wordOf(condition.status), paint.colors),
    printable(condition.reason),
    relative(condition.lastTransitionTime, paint.now),
    String(condition.observedGeneration),
    printable(condition.message ?? ""),
  ]);
  return table(
    ["TYPE", "STATUS", "REASON", "SINCE", "GENERATION", "MESSAGE"],
    rows,
    paint.colors.bold,
  );
}

export function effectTable(effects: readonly StoredEffect[], paint: Paint): string {
  const rows = effects.map((effect) => effectRow(effect, paint));
  return table(
    ["EFFECT", "KIND", "STATE", "CALLS", "REF", "STARTED", "REASON"],
    rows,
    paint.colors.bold,
  );
}

/** The cells of one effect, also for lists of several resources. */
export function effectRow(effect: StoredEffect, paint: Paint): string[] {
  const { colors, now } = paint;
  return [
    printable(effect.key),
    printable(effect.kind),
    effectState(effect, colors),
    String(effect.attempts),
    printable(effect.externalRef ?? ""),
    relative(effect.startedAt, now),
    printable(effect.reason ?? ""),
  ];
}

function effectState(effect: StoredEffect, colors: Colors): string {
  if (effect.state === "applied") return colors.green("applied");
  if (effect.state === "rejected") return colors.red("rejected");
  return colors.yellow(effect.parked ? `${effect.state} (parked)` : effect.state);
}

export function passTable(passes: readonly PassRecord[], paint: Paint): string {
  const rows = passes.map((pass) => [
    relative(pass.startedAt, paint.now),
    String(pass.generation),
    pass.cause,
    outcomeOf(pass, paint.colors),
    span(pass.durationMs),
    printable(pass.detail ?? ""),
  ]);
  return table(
    ["PASS", "GENERATION", "CAUSE", "OUTCOME", "TOOK", "DETAIL"],
    rows,
    paint.colors.bold,
  );
}

/** A pass's outcome as people read it. */
export function outcomeOf(pass: PassRecord, colors: Colors): string {
  const next = pass.requeueAfterMs ? ` (again after ${span(pass.requeueAfterMs)})` : "";
  const bad = pass.outcome === "failed" || pass.outcome === "crashed";
  return `${bad ? colors.red(pass.outcome) : pass.outcome}${next}`;
}

/** What an event is about: of runs, by the id that lists show. */
function subjectOf({ resourceManager, key }: ResourceEvent): string {
  return `${resourceManager}/${isWorkflowLane(resourceManager) ? shortId(key) : key}`;
}

/** Columns of one event; `resource` where events of several are mixed. */
export function eventRow(
  event: ResourceEvent,
  { colors, resource }: { colors: Colors; resource: boolean },
): string[] {
  const times = event.count > 1 ? ` (${event.count} times)` : "";
  return [
    instant(event.lastAt),
    event.type === "Warning" ? colors.yellow(event.type) : event.type,
    printable(event.reason),
    ...(resource ? [printable(subjectOf(event))] : []),
    `${printable(event.message)}${times}`,
  ];
}
