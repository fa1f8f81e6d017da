import { describeRef } from "../model/resource.ts";
import { printable } from "../model/text.ts";
import type { NoticeState, Remembered, Told } from "./memory.ts";
import type { Standing, Stood } from "./standing.ts";

/** Something to tell in a session, once. */
export type Notice = Told & { name: string; because: string };

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
    return { uid, generation: applied.generation, state: "deleted", name, because: "" };
  }
  const { resource, standing } = found;
  const { generation } = resource.metadata;
  const state = stateOf(standing);
  const isNews = told === undefined || told.state !== state || told.generation !== generation;
  const isLate = resource.observedGeneration < applied.generation;
  if (state === undefined || isLate || !isNews) return undefined;
  const { reason, message } = standing;
  const because = printable(message === undefined ? reason : `${reason}: ${message}`);
  return { uid, generation, state, name, because };
}

function stateOf(standing: Standing): NoticeState | undefined {
  if (standing.state === "ready") return "ready";
  return standing.state === "attention" && standing.stuck ? "blocked" : undefined;
}

/** Named one by one; of more, the first of them and their number. */
const NAMED = 4;

/** All that is to be told at one time, as one text. */
export function noticeText(notices: readonly Notice[]): string {
  const of = (state: NoticeState) => notices.filter((notice) => notice.state === state);
  return [
    ...of("blocked").map(
      ({ name, because }) => `${name} is blocked (${because}); see /resource-manager why ${name}`,
    ),
    ...together(of("ready"), "ready"),
    ...together(of("deleted"), "deleted"),
  ].join("\n");
}

function together(notices: readonly Notice[], state: string): string[] {
  if (notices.length <= NAMED) {
    return notices.map(({ name, because }) => `${name} is ${state}${because && ` (${because})`}`);
  }
  const names = notices.slice(0, NAMED - 1).map(({ name }) => name);
  const rest = notices.length - names.length;
  return [`${notices.length} resources are ${state}: ${names.join(", ")} and ${rest} more`];
}
