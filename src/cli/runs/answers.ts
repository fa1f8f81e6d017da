import type { Json } from "../../model/canonical.ts";
import type { JsonSchema } from "../../model/manifest.ts";

const YES = ["yes", "y", "true"];
const NO = ["no", "n", "false"];

/** The one member that an answer must have, where a bare word can stand for it: `{"ok": true}`. */
type Wrap = { name?: string; schema: JsonSchema };

/**
 * The value that a bare word means to a schema: `yes` and `no` for a boolean, one of an enum, any text
 * for a string; also where the answer is an object of which only one such member is required.
 * Undefined where it means nothing, so that it must be JSON.
 */
export function wordAnswer(word: string, schema: JsonSchema | undefined): Json | undefined {
  const wrap = wrapOf(schema);
  if (wrap === undefined) return undefined;
  const value = wordValue(word.trim(), wrap.schema);
  if (value === undefined || wrap.name === undefined) return value;
  return { [wrap.name]: value };
}

function wrapOf(schema: JsonSchema | undefined): Wrap | undefined {
  if (schema === undefined) return undefined;
  if (isScalar(schema)) return { schema };
  const required = (schema["required"] ?? []) as string[];
  const [name] = required;
  if (schema["type"] !== "object" || name === undefined || required.length > 1) return undefined;
  const member = (schema["properties"] as Record<string, JsonSchema> | undefined)?.[name];
  return member && isScalar(member) ? { name, schema: member } : undefined;
}

function isScalar(schema: JsonSchema): boolean {
  return Array.isArray(schema["enum"]) || ["boolean", "string"].includes(String(schema["type"]));
}

function wordValue(word: string, schema: JsonSchema): Json | undefined {
  const options = schema["enum"] as Json[] | undefined;
  if (options) return options.find((option) => wordOf(option) === word);
  if (schema["type"] === "string") return isJsonText(word) ? undefined : word;
  if (YES.includes(word.toLowerCase())) return true;
  return NO.includes(word.toLowerCase()) ? false : undefined;
}

function wordOf(option: Json): string {
  return typeof option === "string" ? option : JSON.stringify(option);
}

/** A text that is written as JSON is read as JSON. */
function isJsonText(word: string): boolean {
  return word.startsWith('"') || word.startsWith("{");
}

/**
 * Answers that a schema takes, as they may be typed: a few examples, the most likely first; none
 * where nothing is known of what it takes, or it takes anything.
 */
export function answerExamples(schema: JsonSchema | undefined): string[] {
  const wrap = wrapOf(schema);
  if (wrap === undefined) {
    const example = exampleOf(schema ?? {});
    return example === null ? [] : [quoted(JSON.stringify(example))];
  }
  const options = wrap.schema["enum"] as Json[] | undefined;
  if (options) return options.map((option) => quoted(wordOf(option)));
  return wrap.schema["type"] === "boolean" ? ["yes", "no"] : ["'TEXT'"];
}

/** As a shell takes it as one word. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./#-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** How deep an example goes into a schema. */
const DEEPEST = 4;

/** A value of a schema's form, with placeholders. */
export function exampleOf(schema: JsonSchema, depth = 0): Json {
  if (schema["default"] !== undefined) return schema["default"] as Json;
  if (schema["const"] !== undefined) return schema["const"] as Json;
  const [option] = (schema["enum"] ?? schema["anyOf"] ?? schema["oneOf"] ?? []) as Json[];
  if (option !== undefined) {
    return schema["enum"] ? option : exampleOf(option as JsonSchema, depth + 1);
  }
  switch ([schema["type"]].flat()[0]) {
    case "boolean":
      return true;
    case "number":
    case "integer":
      return (schema["minimum"] as number | undefined) ?? 0;
    case "string":
      return "…";
    case "array": {
      const items = schema["items"] as JsonSchema | undefined;
      return items && depth < DEEPEST ? [exampleOf(items, depth + 1)] : [];
    }
    case "object":
      return exampleObject(schema, depth);
    default:
      return null;
  }
}

/** Of what must be given; of a schema that requires nothing, of all. */
function exampleObject(schema: JsonSchema, depth: number): Json {
  const properties = (schema["properties"] ?? {}) as Record<string, JsonSchema>;
  const required = (schema["required"] ?? []) as string[];
  const names = required.length > 0 ? required : Object.keys(properties);
  if (depth >= DEEPEST) return {};
  return Object.fromEntries(
    names.map((name) => [name, exampleOf(properties[name] ?? {}, depth + 1)]),
  );
}
