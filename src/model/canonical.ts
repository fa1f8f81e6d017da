import { hash } from "node:crypto";
import { PiWorkflowsError } from "./errors.ts";
import { LIMITS } from "./limits.ts";

/** Any value JSON can hold. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/**
 * The one canonical text of a JSON value: sorted keys, no white space, numbers as JavaScript prints
 * them (`1.0` is `1`, `-0` is `0`). Two specs are equal if and only if their canonical texts are.
 * `undefined` members are left out; dates and other values that JSON can't hold are refused.
 * @throws PiWorkflowsError `NOT_JSON` naming the path of the first such value; `TOO_LARGE` for one that
 * is nested too deep.
 */
export function canonicalJson(value: unknown): string {
  return write(value, { steps: [], above: [] });
}

// The way to the value being written. It becomes a path only where an error needs one: building a
// path for each of the members of 10,000 specs costs more than writing them.
type Trail = { steps: (string | number)[]; above: object[] };

function write(value: unknown, trail: Trail): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value);
    case "boolean":
      return value ? "true" : "false";
    case "number":
      if (!Number.isFinite(value)) throw notJson(trail, String(value));
      return value === 0 ? "0" : String(value);
    case "object":
      return value === null ? "null" : writeObject(value, trail);
    default:
      throw notJson(trail, typeof value);
  }
}

function writeObject(value: object, trail: Trail): string {
  if (trail.above.includes(value)) throw notJson(trail, "a circular reference");
  if (trail.above.length === LIMITS.nesting) throw tooDeep();
  trail.above.push(value);
  const text = Array.isArray(value) ? writeArray(value, trail) : writeRecord(value, trail);
  trail.above.pop();
  return text;
}

function writeArray(items: unknown[], trail: Trail): string {
  let text = "[";
  for (let index = 0; index < items.length; index += 1) {
    if (index > 0) text += ",";
    trail.steps.push(index);
    text += write(items[index], trail);
    trail.steps.pop();
  }
  return `${text}]`;
}

function writeRecord(value: object, trail: Trail): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null && !isForeignPlainObject(prototype)) {
    throw notJson(trail, value.constructor?.name ?? "an object with a prototype");
  }
  const record = value as Record<string, unknown>;
  let text = "{";
  for (const key of Object.keys(record).sort()) {
    const member = record[key];
    if (member === undefined) continue;
    if (text.length > 1) text += ",";
    trail.steps.push(key);
    text += `${JSON.stringify(key)}:${write(member, trail)}`;
    trail.steps.pop();
  }
  return `${text}}`;
}

// A plain object of another realm (a vm context, a worker) has that realm's Object.prototype.
function isForeignPlainObject(prototype: unknown): boolean {
  return (
    typeof prototype === "object" &&
    prototype !== null &&
    Object.getPrototypeOf(prototype) === null &&
    Object.hasOwn(prototype, "isPrototypeOf")
  );
}

/** Appends one member to a field path: `spec.merge`, `spec["a b"]`. */
export function joinPath(path: string, key: string): string {
  if (!/^[A-Za-z_$][\w$]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}

/** The fingerprint of a canonical text: hexadecimal SHA-256, 64 characters. */
export function fingerprintText(canonical: string): string {
  return hash("sha256", canonical, "hex");
}

/** The fingerprint of a JSON value: of its canonical text. */
export function fingerprint(value: unknown): string {
  return fingerprintText(canonicalJson(value));
}

function tooDeep(): PiWorkflowsError {
  return new PiWorkflowsError(
    "TOO_LARGE",
    `the value is nested deeper than ${LIMITS.nesting} objects and arrays`,
  );
}

function notJson({ steps }: Trail, found: string): PiWorkflowsError {
  const path = steps.reduce<string>(
    (text, step) => (typeof step === "number" ? `${text}[${step}]` : joinPath(text, step)),
    "",
  );
  return new PiWorkflowsError(
    "NOT_JSON",
    `${path === "" ? "the value" : path} is ${found}, which JSON can't hold`,
    { details: { path, found } },
  );
}
