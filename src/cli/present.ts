import { RUNTIME_CONDITIONS, TERMINAL_ERROR } from "../model/condition.ts";
import type { ManagerRecord } from "../model/batch.ts";
import { describeRef } from "../model/resource.ts";
import { hasEnded } from "../model/run.ts";
import type { SourceDefinition } from "../model/source.ts";
import type { Details } from "./details.ts";
import { relative, span } from "./time.ts";
import { describeCause } from "./timeline.ts";

/** What is needed to say what a resource waits for. */
export type Situation = {
  details: Details;
  manager: ManagerRecord | undefined;
  serverRuns: boolean;
  /** What it depends on that is not ready, each `MANAGER/KEY`. */
  unready: readonly string[];
  /** Its child runs of which something is to be said. */
  children: readonly Child[];
  now: number;
};

/** What a resource waits for now: a word for programs, sentences for people. */
export type Present = { state: string; sentences: string[] };

/** A child run in sentences: `isOpen` while its parent waits for it. */
export type Child = { isOpen: boolean; sentences: string[] };

/** What a resource is in while nothing of itself is amiss: an open child is what it waits for. */
const WITH_CHILD = ["waiting", "settled"];

/** Says in plain words what happens next, and what a person can do about it. */
export function presentOf(situation: Situation): Present {
  const { details, serverRuns } = situation;
  const present = [blocked, inQueue, atRest].map((look) => look(situation)).find((found) => found);
  const { state, sentences } = present ?? { state: "settled", sentences: [] };
  const needsServer = details.queue !== undefined && state !== "suspended" && !serverRuns;
  // With no server there is no runner to be free.
  const own = needsServer && state === "ready" ? [] : sentences;
  const { children } = situation;
  const waitsForChild = WITH_CHILD.includes(state) && children.some(({ isOpen }) => isOpen);
  const told = children.flatMap((child) => child.sentences);
  return {
    state: waitsForChild ? "child" : state,
    sentences: [
      ...(waitsForChild ? told : own),
      ...(waitsForChild ? own : told),
      ...untold(details),
      ...(needsServer ? [NO_SERVER] : []),
    ],
  };
}

/** Effects that a later pass may find or not: where its manager no longer asks, only a person can. */
function untold({ resource, effects }: Details): string[] {
  const ref = describeRef(resource.resource.metadata);
  return effects
    .filter(({ state, parked }) => state === "indeterminate" && !parked)
    .map(
      ({ key }) =>
        `It can't be told yet whether effect ${key} happened; the pass that asks for it again looks. ` +
        `To settle it by hand: \`pi-workflows effect resolve ${ref} ${key} --applied\`, or ` +
        "--not-applied --reason TEXT.",
    );
}

const NO_SERVER =
  "No server is running, so nothing moves: `pi-workflows server start` starts it, and so does any " +
  "command that changes something.";

type Look = (situation: Situation) => Present | undefined;

const blocked: Look = ({ details, unready }) => {
  const { resource, effects } = details;
  const { metadata } = resource.resource;
  const ref = describeRef(metadata);
  if (resource.suspended) {
    const sentence = `It is suspended: no pass begins until \`pi-workflows resume ${ref}\`.`;
    return { state: "suspended", sentences: [sentence] };
  }
  const parked = effects.filter((effect) => effect.parked);
  if (parked.length > 0) {
    const sentences = parked.map(
      (effect) =>
        `It can't be told whether effect ${effect.key} happened` +
        `${effect.reason ? ` (${effect.reason})` : ""}. Look for yourself, then say so: ` +
        `\`pi-workflows effect resolve ${ref} ${effect.key} --applied\`, or --not-applied --reason TEXT.`,
    );
    return { state: "effect-indeterminate", sentences };
  }
  if (unready.length === 0 || metadata.deletionTimestamp !== undefined) return undefined;
  return {
    state: "dependency",
    sentences: [`It depends on ${unready.join(", ")}, which is not ready.`],
  };
};

const inQueue: Look = ({ details, now }) => {
  const { queue } = details;
  if (queue === undefined) return undefined;
  const deleting = deletionSentences(details, now);
  if (queue.claimed) {
    const another = queue.dirty ? " Another will follow, since something changed meanwhile." : "";
    return { state: "running", sentences: [...deleting, `A pass is running.${another}`] };
  }
  const because = describeCause(queue.cause);
  if (queue.readyAt > now) {
    const failures = queue.attempts + queue.crashAttempts;
    const after =
      failures > 0
        ? `, after ${failures} failed ${failures === 1 ? "pass" : "passes"} in a row`
        : "";
    const sentence = `The next pass begins ${relative(queue.readyAt, now)}${after}, because of ${because}.`;
    return { state: failures > 0 ? "backoff" : "waiting", sentences: [...deleting, sentence] };
  }
  const sentence = `It is ready for a pass, and waits for a free runner, because of ${because}.`;
  return { state: "ready", sentences: [...deleting, sentence] };
};

/** The runtime's own finalizer, which it removes itself when the last child run has ended. */
export const CHILD_RUNS = "pi-workflows/child-runs";

/** What holds a deletion up, since when, why, and what a person can do about it. */
function deletionSentences({ resource, passes }: Details, now: number): string[] {
  const { metadata } = resource.resource;
  const { deletionTimestamp, finalizers, resourceManager } = metadata;
  if (deletionTimestamp === undefined) return [];
  const asked = `Its deletion was asked for ${relative(deletionTimestamp, now)}: `;
  const own = finalizers.filter((name) => name !== CHILD_RUNS);
  const cleanUp = `its manager ${resourceManager} must clean up and remove ${own.join(", ")} first.`;
  const waits =
    asked +
    [
      ...(own.length < finalizers.length
        ? ["its child runs are cancelled, and must end first"]
        : []),
      ...(own.length > 0 ? [cleanUp] : []),
    ].join("; ");
  const [latest] = passes;
  if (latest?.outcome !== "failed" && latest?.outcome !== "crashed") return [waits];
  const ref = describeRef(metadata);
  return [
    waits,
    `The latest pass did not: ${latest.detail ?? latest.outcome}. Mend that and run ` +
      `\`pi-workflows reconcile ${ref}\`, or clean up by hand and run ` +
      `\`pi-workflows delete ${ref} --force-finalizers\`.`,
  ];
}

const atRest: Look = ({ details, manager, now }) => {
  const { metadata, status } = details.resource.resource;
  const ref = describeRef(metadata);
  const again = `\`pi-workflows reconcile ${ref}\``;
  const stalled = status.conditions.find(
    (condition) => condition.type === RUNTIME_CONDITIONS.stalled && condition.status === true,
  );
  if (stalled) {
    const sentence = `It is not tried any more (${stalled.reason}) until its spec changes or you run ${again}.`;
    return { state: "stalled", sentences: [...deletionSentences(details, now), sentence] };
  }
  const failed = status.conditions.find(
    ({ type, reason, observedGeneration }) =>
      type === RUNTIME_CONDITIONS.reconciled &&
      reason === TERMINAL_ERROR &&
      observedGeneration === metadata.generation,
  );
  if (failed) {
    const message = failed.message ? `: ${failed.message}` : "";
    const sentence = `It failed for good${message}. It is tried again when its spec changes or you run ${again}.`;
    return { state: "failed", sentences: [...deletionSentences(details, now), sentence] };
  }
  if (status.observedGeneration < metadata.generation) {
    const sentence = `Generation ${metadata.generation} was not looked at yet, and no pass is queued; run ${again}.`;
    return { state: "lost", sentences: [sentence] };
  }
  const wakes = (manager?.sources ?? []).map(describeSource);
  const child = status.workflowRun;
  const ends = child && !hasEnded(child) ? [`its child run ends`] : [];
  const until = [...ends, `its spec changes`, ...wakes, `you run ${again}`];
  const sentence = `Nothing is left to do until ${until.slice(0, -1).join(", ")} or ${until.at(-1)}.`;
  return { state: "settled", sentences: [...deletionSentences(details, now), sentence] };
};

function describeSource(source: SourceDefinition): string {
  switch (source.kind) {
    case "every":
      return `${span(source.everyMs)} have passed`;
    case "cron":
      return `its time comes (${source.expression}${source.timezone ? `, ${source.timezone}` : ""})`;
    case "files":
      return `files change (${source.globs.join(", ")})`;
    case "watch":
      return `a resource of ${source.manager} changes`;
    case "webhook":
      return `the webhook ${source.name} says so`;
  }
}
