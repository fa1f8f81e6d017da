import type { StoredEffect } from "../model/effect.ts";
import type { PassRecord } from "../model/pass.ts";
import { isSourceCause, type PlainCause, type WakeCause } from "../model/queue.ts";
import type { RunSummary } from "../model/run.ts";
import type { GenerationRecord } from "../store/store.ts";
import type { Details } from "./details.ts";
import { describeOrigin, describeOwner } from "./origin.ts";
import type { CommitNote } from "./provenance.ts";
import { wordOf } from "./readiness.ts";
import { shortId } from "./runs/ids.ts";
import { instant, span } from "./time.ts";

/** One link of the chain of causes. */
export type Link = {
  /** Epoch milliseconds. */
  at: number;
  kind: "spec" | "generation" | "queue" | "pass" | "effect" | "run" | "condition" | "deletion";
  text: string;
};

const CAUSES: Readonly<Record<PlainCause, string>> = {
  spec: "a changed spec",
  delete: "a requested deletion",
  request: "a person's request",
  schedule: "its manager's schedule",
  requeue: "what the pass before asked for",
  retry: "a failure before",
  effect: "a settled effect",
  child: "a change of its child run",
  status: "a status that another wrote",
  recovery: "an interruption of the server",
  repair: "a rebuilt queue",
  source: "a change that a source saw",
};

/** What a wake-up came from, for people: "because of …". */
export function describeCause(cause: WakeCause): string {
  if (!isSourceCause(cause)) return CAUSES[cause];
  const split = cause.indexOf(":");
  const name = cause.slice(split + 1);
  switch (cause.slice(0, split)) {
    case "cron":
      return `its manager's schedule ${name}`;
    case "files":
      return `changed files (${name})`;
    case "watch":
      return `a change of a resource of ${name}`;
    default:
      return `a webhook ${name}`;
  }
}

/**
 * The chain that led to the present state, oldest first: file and commit, generation, queue entry,
 * pass, effect, condition. It begins with the present generation.
 */
export function timelineOf(
  details: Details,
  history: readonly GenerationRecord[],
  commit: CommitNote | undefined,
): Link[] {
  const { resource, passes, effects, workflows } = details;
  const { generation, deletionTimestamp } = resource.resource.metadata;
  const present = history.find((record) => record.generation <= generation);
  const since = present?.at ?? resource.createdAt;
  const current = passes.filter((pass) => pass.generation === generation).reverse();
  const links = [
    ...(present ? generationLinks(present, commit) : []),
    ...(deletionTimestamp === undefined
      ? []
      : [
          {
            at: Date.parse(deletionTimestamp),
            kind: "deletion" as const,
            text: "deletion was requested",
          },
        ]),
    ...current.flatMap(passLinks),
    ...effects.filter((effect) => isRecent(effect, generation, since)).flatMap(effectLinks),
    ...workflows.filter((run) => (run.endedAt ?? Infinity) >= since).flatMap(runLinks),
    ...conditionLinks(details),
  ];
  return links.sort((a, b) => a.at - b.at || ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
}

const ORDER: readonly Link["kind"][] = [
  "spec",
  "generation",
  "deletion",
  "queue",
  "pass",
  "effect",
  "run",
  "condition",
];

function generationLinks(record: GenerationRecord, commit: CommitNote | undefined): Link[] {
  const { origin, at, generation } = record;
  const command = origin.command && origin.file ? `, by \`${origin.command}\`` : "";
  const link: Link = {
    at,
    kind: "generation",
    text: `generation ${generation} was stored for ${describeOwner(origin)}${command}`,
  };
  const note = commit
    ? `, committed ${instant(commit.at)} by ${commit.author}: ${commit.subject}`
    : "";
  return [{ at, kind: "spec", text: `${describeOrigin(origin)}${note}` }, link];
}

function passLinks(pass: PassRecord): Link[] {
  const again = pass.requeueAfterMs ? `, again after ${span(pass.requeueAfterMs)}` : "";
  const detail = pass.detail ? `: ${pass.detail}` : "";
  return [
    {
      at: pass.startedAt,
      kind: "queue",
      text: `taken from the queue, because of ${describeCause(pass.cause)}`,
    },
    {
      at: pass.startedAt,
      kind: "pass",
      text: `${pass.outcome} in ${span(pass.durationMs)}${again}${detail}`,
    },
  ];
}

function isRecent(effect: StoredEffect, generation: number, since: number): boolean {
  return effect.generation === generation || Date.parse(effect.startedAt) >= since;
}

function effectLinks(effect: StoredEffect): Link[] {
  const started = Date.parse(effect.startedAt);
  const took = effect.completedAt ? ` in ${span(Date.parse(effect.completedAt) - started)}` : "";
  const ref = effect.externalRef ? ` as ${effect.externalRef}` : "";
  const reason = effect.reason ? `: ${effect.reason}` : "";
  const calls = effect.attempts > 1 ? `, ${effect.attempts} calls` : "";
  return [
    {
      at: started,
      kind: "effect",
      text: `${effect.key} (${effect.kind}) ${effect.state}${took}${ref}${calls}${reason}`,
    },
  ];
}

function runLinks(run: RunSummary): Link[] {
  const name = `${run.workflow} ${shortId(run.runId)}`;
  const begun: Link = { at: run.createdAt, kind: "run", text: `child run ${name} was asked for` };
  if (run.endedAt === undefined) return [begun];
  const why = run.reason ? ` (${run.reason})` : "";
  const message = run.message ? `: ${run.message}` : "";
  const text = `child run ${name} ${run.state}${why} in ${span(run.endedAt - run.createdAt)}${message}`;
  return [begun, { at: run.endedAt, kind: "run", text }];
}

function conditionLinks({ resource }: Details): Link[] {
  const { generation } = resource.resource.metadata;
  return resource.resource.status.conditions.map((condition) => {
    const old =
      condition.observedGeneration === generation
        ? ""
        : ` (computed from generation ${condition.observedGeneration})`;
    return {
      at: Date.parse(condition.lastTransitionTime),
      kind: "condition",
      // Its reason and message may be newer than its last transition; `describe` shows them.
      text: `${condition.type} became ${wordOf(condition.status)}${old}`,
    };
  });
}
