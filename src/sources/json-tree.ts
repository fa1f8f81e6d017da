import {
  findNodeAtLocation,
  parseTree,
  type Node,
  type ParseError,
  printParseErrorCode,
} from "jsonc-parser";
import type { Place, Problem } from "../model/manifest.ts";
import { joinPath } from "../model/canonical.ts";
import { MAX_DEPTH } from "./json-names.ts";
import { placeOfOffset, placesIn } from "./place.ts";

/** Names and positions within a value: member names and item indices. */
export type FieldPath = readonly (string | number)[];

/** A parsed JSON text that knows where each value stands. */
export type JsonTree = { root: Node; place(path: FieldPath, of?: "value" | "name"): Place };

const EXPECTED: Record<string, string> = {
  InvalidSymbol: "this is not JSON: use strings in double quotes, numbers, true, false or null",
  InvalidNumberFormat: "the number is not written as JSON writes numbers",
  PropertyNameExpected: "a member name in double quotes is expected here",
  ValueExpected: "a value is expected here",
  ColonExpected: "a colon is expected here",
  CommaExpected: "a comma is expected here",
  CloseBraceExpected: "a closing brace } is expected here",
  CloseBracketExpected: "a closing bracket ] is expected here",
  EndOfFileExpected: "the file should end here: put several manifests into an array",
  UnexpectedEndOfComment: "the comment is not closed",
  UnexpectedEndOfString: "the string is not closed",
  UnexpectedEndOfNumber: "the number is cut off",
  InvalidUnicode: "the \\u escape is not valid",
  InvalidEscapeCharacter: "the escape sequence is not valid",
  InvalidCharacter: "a control character must be escaped",
};

/** Parses JSON with comments and trailing commas; every syntax error is a problem. */
export function parseJsonTree(file: string, text: string): JsonTree | { problems: Problem[] } {
  const errors: ParseError[] = [];
  let root: Node | undefined;
  try {
    root = parseTree(text, errors, { allowTrailingComma: true });
  } catch (thrown) {
    // The parser recurses; only its stack can give out.
    if (!(thrown instanceof RangeError)) throw thrown;
    return { problems: [{ ...placeOfOffset(file, text, 0), path: "", message: tooDeep() }] };
  }
  if (errors.length > 0 || root === undefined) {
    // One mistake makes the parser report several at or after the same place: the first explains it.
    const first = errors[0];
    const code = first === undefined ? "ValueExpected" : printParseErrorCode(first.error);
    const message = EXPECTED[code] ?? `not valid JSON: ${code}`;
    return { problems: [{ ...placeOfOffset(file, text, first?.offset ?? 0), path: "", message }] };
  }
  const tree = root;
  const placeOf = placesIn(file, text);
  return { root, place: (path, of = "value") => placeOf(offsetOf(tree, path, of)) };
}

/** Where `path` stands, or, where it is missing, the nearest value around it. */
function offsetOf(root: Node, path: FieldPath, of: "value" | "name"): number {
  for (let length = path.length; length > 0; length -= 1) {
    const node = findNodeAtLocation(root, path.slice(0, length));
    if (node === undefined) continue;
    const isWhole = length === path.length;
    const name = node.parent?.type === "property" ? node.parent.children?.[0] : undefined;
    return of === "name" && isWhole && name !== undefined ? name.offset : node.offset;
  }
  return root.offset;
}

/** Problems that the grammar allows and we do not: names that come twice, `__proto__`, depth. */
export function memberProblems(file: string, text: string, root: Node): Problem[] {
  const problems: Problem[] = [];
  const placeOf = placesIn(file, text);
  const visit = (node: Node, path: string, depth: number): void => {
    if (depth > MAX_DEPTH) {
      problems.push({ ...placeOf(node.offset), path, message: tooDeep() });
      return;
    }
    const seen = new Set<string>();
    for (const [index, child] of (node.children ?? []).entries()) {
      if (node.type === "array") {
        visit(child, `${path}[${index}]`, depth + 1);
        continue;
      }
      const [name, value] = child.children ?? [];
      if (name === undefined || value === undefined) continue;
      const member = String(name.value);
      const memberPath = joinPath(path, member);
      const message = seen.has(member)
        ? "is given twice; keep one"
        : member === "__proto__"
          ? "this name is not allowed"
          : undefined;
      if (message !== undefined) {
        problems.push({ ...placeOf(name.offset), path: memberPath, message });
      }
      seen.add(member);
      visit(value, memberPath, depth + 1);
    }
  };
  visit(root, "", 0);
  return problems;
}

function tooDeep(): string {
  return `values are nested too deeply; at most ${MAX_DEPTH} levels are allowed`;
}
