import { joinPath } from "../model/canonical.ts";
import type { JsonSchema } from "../model/manifest.ts";
import type { FieldPath } from "./json-tree.ts";

/** The member names that `schema` knows at `path`; none where it can't tell. */
export function memberNames(schema: JsonSchema | undefined, path: FieldPath): string[] {
  if (schema === undefined) return [];
  let here = variants(schema, schema);
  for (const part of path) {
    here = here.flatMap((at) => steps(at, part).flatMap((next) => variants(next, schema)));
  }
  return [...new Set(here.flatMap((at) => Object.keys(asSchema(at["properties"]) ?? {})))];
}

function steps(schema: JsonSchema, part: string | number): JsonSchema[] {
  const member =
    typeof part === "number"
      ? (asList(schema["prefixItems"])[part] ?? schema["items"])
      : (asSchema(schema["properties"])?.[part] ?? schema["additionalProperties"]);
  const next = asSchema(member);
  return next === undefined ? [] : [next];
}

/**
 * Field paths that the schema marks secret: by `secret: true` (zod's `.meta({ secret: true })`),
 * `x-secret: true`, `writeOnly: true` or the format `password`. `[]` stands for every item of an
 * array and `*` for every other member of an object: `users[].password`, `headers.*`.
 */
export function secretPathsOf(schema: JsonSchema | undefined): string[] {
  if (schema === undefined) return [];
  const paths = new Set<string>();
  collect({ schema, root: schema, path: "", above: new Set(), paths });
  return [...paths].sort();
}

type Visit = {
  schema: JsonSchema;
  root: JsonSchema;
  path: string;
  /** Schemas on the way here: a recursive schema ends where it meets itself. */
  above: ReadonlySet<JsonSchema>;
  paths: Set<string>;
};

function collect(visit: Visit): void {
  for (const schema of variants(visit.schema, visit.root)) {
    if (visit.above.has(schema)) continue;
    if (isSecret(schema)) {
      visit.paths.add(visit.path);
      continue;
    }
    const above = new Set([...visit.above, schema]);
    for (const [path, inner] of parts(schema, visit.path)) {
      collect({ ...visit, schema: inner, path, above });
    }
  }
}

function parts(schema: JsonSchema, path: string): [string, JsonSchema][] {
  const found: [string, unknown][] = [
    ...Object.entries(asSchema(schema["properties"]) ?? {}).map(
      ([name, inner]): [string, unknown] => [joinPath(path, name), inner],
    ),
    ...Object.values(asSchema(schema["patternProperties"]) ?? {}).map(
      (inner): [string, unknown] => [any(path), inner],
    ),
    [any(path), schema["additionalProperties"]],
    [`${path}[]`, schema["items"]],
    ...asList(schema["prefixItems"]).map((inner): [string, unknown] => [`${path}[]`, inner]),
  ];
  return found.flatMap(([where, inner]) => {
    const next = asSchema(inner);
    return next === undefined ? [] : [[where, next] as [string, JsonSchema]];
  });
}

function any(path: string): string {
  return path === "" ? "*" : `${path}.*`;
}

function isSecret(schema: JsonSchema): boolean {
  return (
    schema["secret"] === true ||
    schema["x-secret"] === true ||
    schema["writeOnly"] === true ||
    schema["format"] === "password"
  );
}

/** A schema and all that it refers to or combines, each on its own. */
function variants(
  schema: JsonSchema,
  root: JsonSchema,
  seen: Set<JsonSchema> = new Set(),
): JsonSchema[] {
  if (seen.has(schema)) return [];
  seen.add(schema);
  const target = typeof schema["$ref"] === "string" ? lookUp(root, schema["$ref"]) : undefined;
  const inner = [
    target,
    ...["anyOf", "oneOf", "allOf"].flatMap((keyword) => asList(schema[keyword])),
    ...["if", "then", "else"].map((keyword) => schema[keyword]),
  ].map(asSchema);
  return [
    schema,
    ...inner.flatMap((next) => (next === undefined ? [] : variants(next, root, seen))),
  ];
}

/** A local reference, `#/$defs/name`. */
function lookUp(root: JsonSchema, reference: string): unknown {
  if (!reference.startsWith("#")) return undefined;
  return reference
    .split("/")
    .slice(1)
    .map((part) => decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce<unknown>((at, part) => asSchema(at)?.[part], root);
}

function asSchema(value: unknown): JsonSchema | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonSchema)
    : undefined;
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
