import { joinPath } from "../model/canonical.ts";
import type { Json } from "../model/canonical.ts";
import type { FieldChange } from "../model/plan.ts";
import { enter, isSecretHere, itemPath, NO_SECRETS } from "./path.ts";
import type { SecretPaths } from "./path.ts";

type JsonObject = { [key: string]: Json };
type Compare = { secrets: SecretPaths; changes: FieldChange[] };

/** Members that name an array's items, best first. */
export const NAMING_FIELDS = ["key", "id", "name"] as const;

/**
 * Every field in which two JSON values differ, outermost first where a whole part is new or gone.
 * Array items are matched by `key`, `id` or `name` where all items of both sides have a unique one
 * that is not secret, else by position. Where matched items end up in an order that removing and
 * appending does not explain, `path[]` says the order of their names before and after.
 * Secret parts are compared whole, so that no path leads into one.
 */
export function diffFields(
  before: Json,
  after: Json,
  path = "",
  secrets: SecretPaths = NO_SECRETS,
): FieldChange[] {
  const changes: FieldChange[] = [];
  compare(before, after, path, { secrets, changes });
  return changes;
}

function compare(before: Json, after: Json, path: string, context: Compare): void {
  const { secrets, changes } = context;
  if (before === after) return;
  if (secrets.length > 0 && (isSecretHere(secrets, before) || isSecretHere(secrets, after))) {
    if (!equal(before, after)) changes.push({ path, before, after });
  } else if (Array.isArray(before) && Array.isArray(after)) {
    compareArrays(before, after, path, context);
  } else if (isObject(before) && isObject(after)) {
    compareObjects(before, after, path, context);
  } else {
    changes.push({ path, before, after });
  }
}

function compareObjects(
  before: JsonObject,
  after: JsonObject,
  path: string,
  { secrets, changes }: Compare,
): void {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  for (const name of [...names].sort()) {
    const inside = { secrets: enter(secrets, { kind: "member", name }), changes };
    compareParts(member(before, name), member(after, name), joinPath(path, name), inside);
  }
}

function compareArrays(before: Json[], after: Json[], path: string, context: Compare): void {
  const inside = { ...context, secrets: enter(context.secrets, { kind: "item" }) };
  const field = namingField(before, after, inside.secrets);
  if (field !== undefined) {
    compareNamed(before as JsonObject[], after as JsonObject[], { path, field }, inside);
    return;
  }
  const length = Math.max(before.length, after.length);
  for (let index = 0; index < length; index += 1) {
    compareParts(before[index], after[index], `${path}[${index}]`, inside);
  }
}

function compareNamed(
  before: JsonObject[],
  after: JsonObject[],
  { path, field }: { path: string; field: string },
  inside: Compare,
): void {
  const nameOf = (item: JsonObject) => item[field] as string | number;
  const old = new Map(before.map((item) => [nameOf(item), item]));
  const fresh = new Map(after.map((item) => [nameOf(item), item]));
  for (const name of new Set([...old.keys(), ...fresh.keys()])) {
    compareParts(old.get(name), fresh.get(name), itemPath(path, field, name), inside);
  }
  const kept = [...old.keys()].filter((name) => fresh.has(name));
  const actual = [...fresh.keys()];
  if (kept.some((name, index) => name !== actual[index])) {
    inside.changes.push({ path: `${path}[]`, before: [...old.keys()], after: actual });
  }
}

function compareParts(
  before: Json | undefined,
  after: Json | undefined,
  path: string,
  inside: Compare,
): void {
  if (before !== undefined && after !== undefined) compare(before, after, path, inside);
  else if (before !== undefined) inside.changes.push({ path, before });
  else if (after !== undefined) inside.changes.push({ path, after });
}

function namingField(before: Json[], after: Json[], secrets: SecretPaths): string | undefined {
  return NAMING_FIELDS.find((field) => {
    const name = enter(secrets, { kind: "member", name: field });
    return name.length === 0 && namesAll(before, field) && namesAll(after, field);
  });
}

function namesAll(items: Json[], field: string): boolean {
  const names = new Set<Json>();
  for (const item of items) {
    const name = isObject(item) ? member(item, field) : undefined;
    if (typeof name !== "string" && typeof name !== "number") return false;
    names.add(name);
  }
  return names.size === items.length;
}

function equal(before: Json, after: Json): boolean {
  return diffFields(before, after).length === 0;
}

function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function member(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
