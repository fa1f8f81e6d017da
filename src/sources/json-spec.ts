import { getNodeValue } from "jsonc-parser";
import { LIMITS } from "../model/limits.ts";
import type { Place, Problem } from "../model/manifest.ts";
import { countMembers, countNames } from "./json-names.ts";
import { type FieldPath, type JsonTree, memberProblems, parseJsonTree } from "./json-tree.ts";
import { placeOfOffset } from "./place.ts";
import { conflictMarker, decodeText, problemOf } from "./text.ts";

/** One manifest as it was written, not yet checked. */
export type RawManifest = {
  value: unknown;
  place: Place;
  /** Where a field of it stands, as exactly as its file can tell. */
  at(path: FieldPath, of?: "value" | "name"): Place;
};

/** What a spec file holds: its manifests, or why it has none. */
export type SpecDocument = { manifests: RawManifest[]; problems: Problem[] };

/**
 * Reads one JSON spec file: one manifest or an array, with comments and trailing commas allowed.
 * `file` names it in places.
 */
export function readJsonSpec(file: string, bytes: Uint8Array): SpecDocument {
  const decoded = decodeText(file, bytes);
  if (!("text" in decoded)) return { manifests: [], problems: [decoded] };
  const { text } = decoded;
  const plain = parsePlain(text);
  if (plain !== undefined) return documentOf(file, text, plain.value);
  if (text.trim() === "") return refuse(problemOf(file, "the file is empty"));
  const tree = parseJsonTree(file, text);
  if ("problems" in tree) return refuse(conflictMarker(file, text) ?? tree.problems);
  const problems = memberProblems(file, text, tree.root);
  if (problems.length > 0) return refuse(problems);
  // The parser makes objects without a prototype; authors' code gets ordinary ones.
  const value: unknown = JSON.parse(JSON.stringify(getNodeValue(tree.root)));
  return documentOf(file, text, value, tree);
}

function refuse(problems: Problem | Problem[]): SpecDocument {
  return { manifests: [], problems: [problems].flat() };
}

/**
 * The value of a text that is plain JSON without traps. Nearly every file is; the parser that knows
 * comments and positions takes ten times as long.
 */
function parsePlain(text: string): { value: unknown } | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return countMembers(value) === countNames(text) ? { value } : undefined;
}

function documentOf(file: string, text: string, value: unknown, parsed?: JsonTree): SpecDocument {
  let tree = parsed;
  const place = (path: FieldPath, of?: "value" | "name"): Place => {
    if (tree === undefined) {
      const late = parseJsonTree(file, text);
      // JSON.parse took it, so this parser does.
      if ("problems" in late) return placeOfOffset(file, text, 0);
      tree = late;
    }
    return tree.place(path, of);
  };
  if (!Array.isArray(value)) {
    const start = tree?.root.offset ?? text.search(/\S/);
    return {
      manifests: [{ value, place: placeOfOffset(file, text, start), at: place }],
      problems: [],
    };
  }
  if (value.length > LIMITS.manifestsPerFile) {
    const message = `the file holds ${value.length} manifests; at most ${LIMITS.manifestsPerFile} are allowed`;
    return refuse(problemOf(file, message));
  }
  const manifests = value.map((item: unknown, index) => ({
    value: item,
    place: place([index]),
    at: (path: FieldPath, of?: "value" | "name") => place([index, ...path], of),
  }));
  return { manifests, problems: [] };
}
