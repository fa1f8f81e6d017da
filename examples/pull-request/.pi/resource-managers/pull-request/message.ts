import { createHash } from "node:crypto";
import type { Pull } from "./observation.ts";
import type { MergeMethod } from "./spec.ts";

const TRAILER = "Merge-Intent";

/**
 * What names the intent of a resource to merge one head. It is in the merge commit's message, so
 * that the base branch itself can prove that the merge happened; the same for every generation.
 */
export function intentId(uid: string, headSha: string): string {
  return createHash("sha256").update(`${uid}\n${headSha}`).digest("hex").slice(0, 32);
}

/** True where a commit's message carries this intent on a line of its own. */
export function carriesIntent(message: string, id: string): boolean {
  return message.split(/\r?\n/).some((line) => line.trim() === `${TRAILER}: ${id}`);
}

/** Title and message of a merge commit; a rebase has none, its commits keep their own. */
export function mergeMessage(
  pull: Pull,
  templates: { method: MergeMethod; title?: string; body?: string },
  id: string,
): { commit_title?: string; commit_message?: string } {
  const { method } = templates;
  if (method === "rebase") return {};
  const title = templates.title ?? DEFAULTS[method].title;
  const body = render(templates.body ?? DEFAULTS[method].body, pull).trim();
  return {
    commit_title: render(title, pull).replaceAll(/\s+/g, " ").trim(),
    commit_message: `${body}\n\n${TRAILER}: ${id}`.trimStart(),
  };
}

const DEFAULTS = {
  merge: { title: "Merge pull request #{{number}} from {{headRef}}", body: "{{title}}" },
  squash: { title: "{{title}} (#{{number}})", body: "{{body}}" },
} as const;

/** Replaces the placeholders once: what a pull request's own text holds is not replaced again. */
function render(template: string, pull: Pull): string {
  const values: Record<string, string> = {
    number: String(pull.number),
    title: pull.title,
    body: pull.body,
    author: pull.author,
    headRef: pull.headRef,
    headSha: pull.headSha,
    baseRef: pull.baseRef,
  };
  return template.replaceAll(/\{\{(\w+)\}\}/g, (whole, name: string) => values[name] ?? whole);
}
