import { describeRef } from "../model/resource.ts";
import { printable } from "../model/text.ts";
import type { NoticeState, Remembered } from "./memory.ts";
import type { Standing, Stood } from "./standing.ts";

/** Something to tell in a session, once. */
export type Notice = { uid: string; generation: number; state: NoticeState; text: string };

/**
 * What is to be told of the resources that a session applied: what they have become, where the
 * session has not said so. It goes by how things are, not by events, so that what happened while the
 * session was closed is told when it is opened, in its latest state. `present` must hold all
 * resources of the project `project`.
 */
export function noticesDue(
  remembered: readonly Remembered[],
  present: ReadonlyMap<string, Stood>,
  project: string,
): Notice[] {
  return remembered
    .filter((resource) => resource.project === project)
    .flatMap((resource) => {
      const notice = noticeOf(resource, present.get(resource.uid));
      return notice ? [notice] : [];
    });
}

function noticeOf(applied: Remembered, found: Stood | undefined): Notice | undefined {
  const name = printable(describeRef(applied));
  const { uid, told } = applied;
  if (!found) {
    return { uid, generation: applied.generation, state: "deleted", text: `${name} is deleted` };
  }
  const { resource, standing } = found;
  const { generation } = resource.metadata;
  const state = stateOf(standing);
  const isNews = told === undefined || told.state !== state || told.generation !== generation;
  const isLate = resource.observedGeneration < applied.generation;
  if (state === undefined || isLate || !isNews) return undefined;
  return { uid, generation, state, text: textOf(name, state, standing) };
}

function stateOf(standing: Standing): NoticeState | undefined {
  if (standing.state === "ready") return "ready";
  return standing.state === "attention" && standing.stuck ? "blocked" : undefined;
}

function textOf(name: string, state: NoticeState, { reason, message }: Standing): string {
  const because = printable(message === undefined ? reason : `${reason}: ${message}`);
  if (state === "ready") return `${name} is ready (${because})`;
  return `${name} is blocked (${because}); see /resource-manager why ${name}`;
}
