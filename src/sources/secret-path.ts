import type { FieldPath } from "./json-tree.ts";

type Step = (part: string | number) => boolean;

// What is in quotes is as JSON writes texts; a step that is none is passed over.
const STEP =
  /\.?([A-Za-z_$][\w$]*)|\.?(\*)|\[("(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4}))*")\]|(\[\])/g;

/** The steps of a secret path as json-schema.ts writes it: `users[].password`, `headers.*`. */
function stepsOf(secret: string): Step[] {
  return [...secret.matchAll(STEP)].map(([, name, any, quoted, item]) => {
    if (item !== undefined) return (part) => typeof part === "number";
    if (any !== undefined) return () => true;
    const wanted: unknown = quoted === undefined ? name : JSON.parse(quoted);
    return (part) => part === wanted;
  });
}

/** Whether a secret path leads to a field, or to something around or inside it. */
export function covers(secret: string, path: FieldPath): boolean {
  return stepsOf(secret)
    .slice(0, path.length)
    .every((fits, index) => fits(path[index] as string | number));
}

/** Whether a secret path leads to a field, or to something around it. */
export function leadsTo(secret: string, path: FieldPath): boolean {
  return stepsOf(secret).length <= path.length && covers(secret, path);
}

/** Texts and numbers, as text, at and inside the places of a value that a secret path leads to. */
export function valuesAt(value: unknown, secret: string): string[] {
  let places: unknown[] = [value];
  for (const fits of stepsOf(secret)) {
    places = places.flatMap((place) =>
      membersOf(place).flatMap(([part, member]) => (fits(part) ? [member] : [])),
    );
  }
  return places.flatMap(leaves);
}

function leaves(value: unknown): string[] {
  if (typeof value === "string" || typeof value === "number") return [String(value)];
  return membersOf(value).flatMap(([, member]) => leaves(member));
}

function membersOf(value: unknown): [string | number, unknown][] {
  if (Array.isArray(value)) return value.map((item: unknown, index) => [index, item]);
  return typeof value === "object" && value !== null ? Object.entries(value) : [];
}
