/** Deeper ones are left to the meta-schema, which also ends circles. */
const DEEPEST = 50;

const TYPES = new Set(["null", "boolean", "object", "array", "number", "integer", "string"]);

/** Whether a keyword's value has the form that the meta-schema asks for. */
type Form = (value: unknown, depth: number) => boolean;

const FORMS: Readonly<Record<string, Form>> = {
  ...forms(isString, ["title", "description", "$comment", "format"]),
  ...forms(isAnything, ["const", "default", "secret", "x-secret"]),
  ...forms(Array.isArray, ["examples"]),
  ...forms(isBoolean, ["deprecated", "readOnly", "writeOnly", "uniqueItems"]),
  ...forms(isCount, ["minLength", "maxLength", "minItems", "maxItems"]),
  ...forms(isCount, ["minProperties", "maxProperties"]),
  ...forms(isNumber, ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]),
  ...forms(isPlain, ["items", "additionalProperties", "propertyNames", "contains"]),
  ...forms(isPlain, ["not", "if", "then", "else"]),
  ...forms(isPlainList, ["allOf", "anyOf", "oneOf"]),
  type: (value) => TYPES.has(value as string) || isNames(value, (name) => TYPES.has(name), 1),
  // Draft 7 wants at least one, and no two alike.
  enum: (value) =>
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((item) => typeof item !== "object") &&
    new Set(value).size === value.length,
  required: (value) => isNames(value, () => true, 0),
  properties: (value, depth) =>
    isRecord(value) && Object.values(value).every((member) => isPlain(member, depth)),
};

/**
 * True only for a schema that surely fits the meta-schema of each supported draft: every keyword is
 * an everyday one with a value of the right form. Compiling the meta-schemas in order to check one
 * schema takes Ajv ten times as long as compiling that (40 ms against 4), so it is spared for these.
 */
export function isPlainSchema(schema: unknown): boolean {
  return isPlain(schema, 0);
}

function isPlain(schema: unknown, depth: number): boolean {
  if (typeof schema === "boolean") return true;
  if (!isRecord(schema) || depth > DEEPEST) return false;
  return Object.entries(schema).every(
    ([keyword, value]) =>
      Object.hasOwn(FORMS, keyword) && (FORMS[keyword] as Form)(value, depth + 1),
  );
}

function isPlainList(value: unknown, depth: number): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((item) => isPlain(item, depth));
}

function isNames(value: unknown, isName: (name: string) => boolean, least: number): boolean {
  return (
    Array.isArray(value) &&
    value.length >= least &&
    new Set(value).size === value.length &&
    value.every((name) => typeof name === "string" && isName(name))
  );
}

function forms(form: Form, keywords: string[]): Record<string, Form> {
  return Object.fromEntries(keywords.map((keyword) => [keyword, form]));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isAnything(): boolean {
  return true;
}

function isString(value: unknown): boolean {
  return typeof value === "string";
}

function isBoolean(value: unknown): boolean {
  return typeof value === "boolean";
}

function isNumber(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
