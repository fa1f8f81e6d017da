import type { z } from "zod";
import { LIMITS } from "../model/limits.ts";
import { didYouMean } from "../model/nearest.ts";

/** One thing wrong with a definition. */
export type WorkflowProblem = {
  /** Path in the definition: `edges.good.no`; of an include `includes.review.edges.tests`. */
  path: string;
  /** What is wrong, and how to mend it. */
  message: string;
  /** The nearest value that a constructor made: `declarationSite` tells its place. */
  declared: unknown;
};

/** Notes a problem. `declared` is what the place is told by, where that is not the workflow. */
export type Report = (path: string, message: string, declared?: unknown) => void;

/** A value as a message shows it. */
export function show(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null || typeof value === "number" || typeof value === "boolean") {
    return String(value);
  }
  if (typeof value === "string") {
    return value.length <= 60 ? JSON.stringify(value) : `a text of ${value.length} characters`;
  }
  if (typeof value === "function") return "a function";
  return Array.isArray(value) ? "an array" : `an ${typeof value}`;
}

/** A message for each of `keys` that is not known. */
export function unknownKeys(keys: readonly string[], known: readonly string[]): string[] {
  return keys
    .filter((key) => !known.includes(key))
    .map((key) => `unknown option ${JSON.stringify(key)}${didYouMean(key, known)}`);
}

/** What keeps `name` from naming a node, an include or an exit. */
export function nameFault(name: string): string | undefined {
  if (name.length > LIMITS.name) return `its name may have at most ${LIMITS.name} characters`;
  if (/^[a-z][A-Za-z0-9_-]*$/.test(name)) return undefined;
  return "its name must begin with a lower-case letter, and hold only letters, digits, - and _";
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A zod schema, of whichever copy of zod. */
export function isSchema(value: unknown): value is z.ZodType {
  return isRecord(value) && typeof value["safeParse"] === "function";
}
