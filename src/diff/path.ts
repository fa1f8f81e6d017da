import type { Json } from "../model/canonical.ts";

/** One step of a field path: into a member of an object, or into an item of an array. */
export type Step = { kind: "member"; name: string } | { kind: "item" };

// The forms that joinPath and itemPath write, and `[]` and `*` of a secret path.
const STEP =
  /\.?(?<name>[A-Za-z_$][\w$]*|\*)|\[(?<quoted>"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4}))*")\]|\[(?:\d*|(?:key|id|name)=(?:"(?:[^"\\]|\\.)*"|[^\]"]*))\]/y;

/**
 * Reads a field path: `users[].password`, `steps[name=build].run`, `env["a b"]`. In a secret path
 * `[]` stands for every item and `*` for every member. Undefined where the text is no path.
 */
export function parsePath(path: string): Step[] | undefined {
  const steps: Step[] = [];
  STEP.lastIndex = 0;
  while (STEP.lastIndex < path.length) {
    const groups = STEP.exec(path)?.groups;
    if (!groups) return undefined;
    if (groups["quoted"] !== undefined) {
      steps.push({ kind: "member", name: JSON.parse(groups["quoted"]) as string });
    } else if (groups["name"] !== undefined) {
      steps.push({ kind: "member", name: groups["name"] });
    } else {
      steps.push({ kind: "item" });
    }
  }
  return steps;
}

/** The path of the array item whose `field` is `value`: `steps[name=build]`, `users[id=3]`. */
export function itemPath(path: string, field: string, value: string | number): string {
  const text =
    typeof value === "string" && !/^[A-Za-z_][\w./#@-]*$/.test(value)
      ? JSON.stringify(value)
      : String(value);
  return `${path}[${field}=${text}]`;
}

/** Secret paths that still have steps to go, as seen from one place in a value. */
export type SecretPaths = readonly (readonly Step[])[];

export const NO_SECRETS: SecretPaths = [];

/** Parses a manager's secret paths; one that can't be read hides everything rather than nothing. */
export function parseSecretPaths(paths: readonly string[]): SecretPaths {
  return paths.length === 0 ? NO_SECRETS : paths.map((path) => parsePath(path) ?? []);
}

/** The secret paths as seen from one step further in. */
export function enter(secrets: SecretPaths, step: Step): SecretPaths {
  if (secrets.length === 0) return secrets;
  const inside = secrets.filter(([first]) => first !== undefined && matches(first, step));
  return inside.length === 0 ? NO_SECRETS : inside.map((path) => path.slice(1));
}

function matches(pattern: Step, step: Step): boolean {
  if (pattern.kind === "item" || step.kind === "item") return pattern.kind === step.kind;
  return pattern.name === "*" || pattern.name === step.name;
}

/**
 * True when the value here must be hidden whole: a secret path ends here, or goes on through a
 * shape that the value does not have, as an older spec may, so that it can't be told what is secret.
 */
export function isSecretHere(secrets: SecretPaths, value: Json | undefined): boolean {
  return secrets.some(([next]) => next === undefined || !hasShape(value, next));
}

function hasShape(value: Json | undefined, next: Step): boolean {
  if (value === undefined || value === null) return true;
  if (typeof value !== "object") return false;
  return Array.isArray(value) === (next.kind === "item");
}
