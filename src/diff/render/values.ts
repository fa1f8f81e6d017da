import { canonicalJson } from "../../model/canonical.ts";
import { printable } from "../../model/text.ts";
import type { ShownChange } from "../schema.ts";

const LONGEST = 160;
const LEAD = 20;

/** `path: before → after` on one line; a side that is not there is left out. */
export function fieldLine({ path, before, after }: ShownChange): string {
  const name = printable(path);
  const [old, fresh] = excerpts(textOf(before), textOf(after));
  if (old === undefined) return `${name}: ${fresh} (added)`;
  return fresh === undefined ? `${name}: ${old} (removed)` : `${name}: ${old} → ${fresh}`;
}

function textOf(value: ShownChange["before"]): string | undefined {
  return value === undefined ? undefined : printable(canonicalJson(value));
}

// Long values are cut to where they differ: their beginnings may be the same for pages.
function excerpts(before?: string, after?: string): [string | undefined, string | undefined] {
  const tooLong = (before?.length ?? 0) > LONGEST || (after?.length ?? 0) > LONGEST;
  if (!tooLong) return [before, after];
  const start =
    before === undefined || after === undefined
      ? 0
      : Math.max(0, commonPrefix(before, after) - LEAD);
  return [cut(before, start), cut(after, start)];
}

function cut(text: string | undefined, start: number): string | undefined {
  if (text === undefined) return undefined;
  const end = start + LONGEST;
  const length = text.length > LONGEST ? ` (${text.length} characters)` : "";
  return `${start > 0 ? "…" : ""}${text.slice(start, end)}${end < text.length ? "…" : ""}${length}`;
}

function commonPrefix(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return length;
}
