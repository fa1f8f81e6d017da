import { canonicalJson, joinPath, type Json } from "../model/canonical.ts";
import { NAMING_FIELDS } from "./fields.ts";
import { itemPath } from "./path.ts";

/** One field of the newest value, and which of the values gave it its present content. */
export type BlamedField = { path: string; value: Json; index: number };

/** A field, and how to find it in an older value. */
type Leaf = { path: string; value: Json; find: (value: Json | undefined) => Json | undefined };

/**
 * For each field of the newest of some values, the index of the one that last changed it.
 * `values` are newest first; array items are matched by `key`, `id` or `name` where all have one.
 */
export function blame(values: readonly Json[], path: string): BlamedField[] {
  const [newest] = values;
  if (newest === undefined) return [];
  return leaves({ path, value: newest, find: (value) => value }).map((leaf) => {
    const wanted = canonicalJson(leaf.value);
    const changed = values.findIndex((value) => {
      const found = leaf.find(value);
      return found === undefined || canonicalJson(found) !== wanted;
    });
    return {
      path: leaf.path,
      value: leaf.value,
      index: (changed < 0 ? values.length : changed) - 1,
    };
  });
}

function leaves(leaf: Leaf): Leaf[] {
  const { value } = leaf;
  if (value === null || typeof value !== "object") return [leaf];
  const parts = Array.isArray(value) ? items(leaf, value) : members(leaf, value);
  return parts.length === 0 ? [leaf] : parts.flatMap(leaves);
}

function members({ path, find }: Leaf, object: { [key: string]: Json }): Leaf[] {
  return Object.entries(object).map(([name, value]) => ({
    path: joinPath(path, name),
    value,
    find: (root) => memberOf(find(root), name),
  }));
}

function items({ path, find }: Leaf, array: Json[]): Leaf[] {
  const field = NAMING_FIELDS.find((name) => namesEach(array, name));
  return array.map((value, index) => {
    const name = field === undefined ? undefined : nameOf(value, field);
    if (field === undefined || name === undefined) {
      return { path: `${path}[${index}]`, value, find: (root) => listOf(find(root))[index] };
    }
    return {
      path: itemPath(path, field, name),
      value,
      find: (root) => listOf(find(root)).find((item) => nameOf(item, field) === name),
    };
  });
}

function namesEach(array: Json[], field: string): boolean {
  const names = array.map((item) => nameOf(item, field));
  return !names.includes(undefined) && new Set(names).size === names.length;
}

function nameOf(item: Json, field: string): string | number | undefined {
  const name = memberOf(item, field);
  return typeof name === "string" || typeof name === "number" ? name : undefined;
}

function memberOf(value: Json | undefined, name: string): Json | undefined {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject && Object.hasOwn(value, name) ? value[name] : undefined;
}

function listOf(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}
