import type { Json } from "../../src/model/canonical.ts";
import type { FieldChange } from "../../src/model/plan.ts";

type JsonObject = { [key: string]: Json };
type Token = { member: string } | { index: number } | { field: string; name: Json } | "order";

/** Does to a value what a structural diff says; written apart from the code under test. */
export function applyChanges(value: Json, changes: readonly FieldChange[]): Json {
  const root: JsonObject = { spec: structuredClone(value) };
  // Removals of array items last to first, so that positions hold.
  const removals = changes.filter(({ after }) => after === undefined).reverse();
  const others = changes.filter(({ after }) => after !== undefined);
  for (const change of [...removals, ...others]) applyOne(root, change);
  return root["spec"] as Json;
}

function applyOne(root: JsonObject, { path, after }: FieldChange): void {
  const tokens = tokensOf(path);
  const last = tokens.pop() as Token;
  let parent: Json = root;
  for (const token of tokens) parent = step(parent, token);
  if (last === "order") reorder(parent as JsonObject[], after as Json[]);
  else if ("member" in last) setMember(parent as JsonObject, last.member, after);
  else setItem(parent as Json[], last, after);
}

function step(parent: Json, token: Token): Json {
  if (token === "order") throw new Error("an order is no place");
  if ("member" in token) return (parent as JsonObject)[token.member] as Json;
  return (parent as Json[])[indexIn(parent as Json[], token)] as Json;
}

function indexIn(items: Json[], token: Exclude<Token, "order" | { member: string }>): number {
  if ("index" in token) return token.index;
  const index = items.findIndex((item) => (item as JsonObject)[token.field] === token.name);
  return index === -1 ? items.length : index;
}

function setMember(parent: JsonObject, member: string, after: Json | undefined): void {
  if (after === undefined) delete parent[member];
  else
    Object.defineProperty(parent, member, {
      value: after,
      enumerable: true,
      writable: true,
      configurable: true,
    });
}

function setItem(
  items: Json[],
  token: Exclude<Token, "order" | { member: string }>,
  after: Json | undefined,
): void {
  const index = indexIn(items, token);
  if (after === undefined) items.splice(index, 1);
  else items[index] = after;
}

function reorder(items: JsonObject[], names: Json[]): void {
  const field = ["key", "id", "name"].find((candidate) =>
    items.every((item) => names.includes(item[candidate] as Json)),
  ) as string;
  items.sort((a, b) => names.indexOf(a[field] as Json) - names.indexOf(b[field] as Json));
}

function tokensOf(path: string): Token[] {
  const pattern =
    /\.?([A-Za-z_$][\w$]*)|\[("(?:[^"\\]|\\.)*")\]|\[(\d+)\]|\[(key|id|name)=("(?:[^"\\]|\\.)*"|[^\]]*)\]|(\[\])/g;
  return [...path.matchAll(pattern)].map(([, name, quoted, index, field, value]) => {
    if (name !== undefined) return { member: name };
    if (quoted !== undefined) return { member: JSON.parse(quoted) as string };
    if (index !== undefined) return { index: Number(index) };
    return field === undefined ? "order" : { field, name: nameOf(value as string) };
  });
}

function nameOf(text: string): Json {
  return /^["\d-]/.test(text) ? (JSON.parse(text) as Json) : text;
}
