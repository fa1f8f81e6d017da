import { z } from "zod";
import type { JsonSchema } from "../model/manifest.ts";
import { ajvIssues } from "./ajv-issues.ts";
import type { Issue } from "./issue.ts";
import { loadAjv2020, loadAjvOfDraft07, loadFormats } from "./lazy-packages.ts";
import { BOUNDED_PATTERNS, PatternTooSlow } from "./pattern.ts";
import { isPlainSchema } from "./plain-schema.ts";
import { withoutSecrets } from "./secret-issues.ts";
import { zodIssues } from "./zod-issues.ts";

/**
 * What checking a value came to: the value with the schema's defaults, or all that is wrong, which
 * repeats no secret field.
 */
export type Checked = { value: unknown } | { issues: Issue[] };

/** A schema of either kind, ready to check values. */
export type Schema = {
  check(value: unknown): Checked | Promise<Checked>;
  /** The same as JSON Schema, where it can be said in it: of values as a person writes them. */
  json: JsonSchema | undefined;
  /** Of values as they are stored, with defaults and transforms applied, where that differs. */
  stored?: JsonSchema;
};

/**
 * Prepares the schema of a definition: anything with zod's `safeParse`, else a JSON Schema object.
 * `isChecked` says that the JSON Schema was prepared before, so that it is not held against its own
 * dialect again, which costs ten times what compiling it does.
 * @throws Error with a reason when it is neither, or can't be compiled.
 */
export async function prepareSchema(
  schema: unknown,
  { isChecked = false }: { isChecked?: boolean } = {},
): Promise<Schema> {
  if (typeof schema !== "object" || schema === null) {
    throw new Error(`must be a zod schema or a JSON Schema object, not ${describe(schema)}`);
  }
  if ("safeParse" in schema) return zodSchema(schema as z.ZodType);
  return ajvSchema(schema as JsonSchema, isChecked);
}

function describe(value: unknown): string {
  return value === null ? "null" : typeof value;
}

/** Prepares a zod schema. */
export function zodSchema(schema: z.ZodType): Schema {
  const json = zodToJson(schema, "input");
  const stored = zodToJson(schema, "output");
  const interpret = (result: z.ZodSafeParseResult<unknown>, value: unknown): Checked =>
    result.success
      ? { value: result.data }
      : { issues: withoutSecrets(zodIssues(result.error.issues, value, json), value, json) };
  let isAsync = false;
  return {
    json,
    ...(stored && JSON.stringify(stored) !== JSON.stringify(json) ? { stored } : {}),
    check(value) {
      if (!isAsync) {
        try {
          return interpret(schema.safeParse(value), value);
        } catch (thrown) {
          if (!isAsyncError(thrown)) throw thrown;
          isAsync = true;
        }
      }
      return schema.safeParseAsync(value).then((result) => interpret(result, value));
    },
  };
}

function isAsyncError(thrown: unknown): boolean {
  return thrown instanceof Error && /async/i.test(`${thrown.constructor.name} ${thrown.message}`);
}

/** Undefined for a schema that is not of zod 4: then specs are checked, but can't be described. */
function zodToJson(schema: z.ZodType, io: "input" | "output"): JsonSchema | undefined {
  if (!("_zod" in schema)) return undefined;
  const json = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    // The project's zod may be another copy, whose registry of metadata ours does not see.
    override: ({ zodSchema, jsonSchema }) => {
      const owner = zodSchema as unknown as Partial<z.ZodType>;
      if (typeof owner.meta === "function") Object.assign(jsonSchema, owner.meta());
    },
  });
  return JSON.parse(JSON.stringify(json)) as JsonSchema;
}

function ajvSchema(schema: JsonSchema, isChecked: boolean): Schema {
  const undialected = withoutDialect(schema);
  const options = {
    strict: false,
    allErrors: true,
    useDefaults: true,
    verbose: true,
    code: { regExp: BOUNDED_PATTERNS },
    validateSchema: !isChecked && !isPlainSchema(undialected),
  };
  const dialect = typeof schema["$schema"] === "string" ? schema["$schema"] : "";
  const Ajv = /draft-0[67]/.test(dialect) ? loadAjvOfDraft07() : loadAjv2020();
  const ajv = new Ajv(options);
  loadFormats()(ajv);
  const validate = ajv.compile(undialected);
  return {
    json: schema,
    check(value) {
      // Defaults are written into the value, which may be shared between manifests.
      const copy = structuredClone(value);
      try {
        if (validate(copy)) return { value: copy };
      } catch (thrown) {
        if (!(thrown instanceof PatternTooSlow)) throw thrown;
        return { issues: [{ path: [], message: thrown.message, of: "value" }] };
      }
      return { issues: withoutSecrets(ajvIssues(validate.errors ?? []), value, schema) };
    },
  };
}

/** Ajv knows its own dialect's address only, and the dialect has been chosen. */
function withoutDialect(schema: JsonSchema): JsonSchema {
  const { $schema: _dialect, ...rest } = schema;
  return rest;
}
