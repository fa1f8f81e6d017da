import { PiWorkflowsError } from "../model/errors.ts";
import { parseDuration } from "./time.ts";
import type { Argument, Flag } from "./verb.ts";

/** `-o` with the formats of one verb; `table` is what people get. */
export function outputFlag(...formats: string[]): Flag {
  return {
    flags: "-o, --output <format>",
    description: "how to print",
    choices: ["table", ...formats],
    group: "Output:",
  };
}

export const SHOW_SECRETS: Flag = {
  flags: "--show-secrets",
  description: "print secret fields as they are",
  group: "Output:",
};

export const YES: Flag = { flags: "-y, --yes", description: "do not ask" };

export const WAIT_TIMEOUT: Flag = {
  flags: "--timeout <duration>",
  description: "how long to wait: 30s, 5m, 1h (default 5m)",
  parse: parseDuration,
  group: "Waiting:",
};

export const ALL_PROJECTS: Flag = {
  flags: "-A, --all-projects",
  description: "of every project, not just this one",
};

export const MANAGER: Argument = {
  usage: "<manager>",
  description: "name of a resource manager",
  complete: "manager",
};
export const KEY: Argument = {
  usage: "<key>",
  description: "key of the resource",
  complete: "key",
};

/** The same two where they may be left out. */
export const ANY_MANAGER: Argument = { ...MANAGER, usage: "[manager]" };
export const ANY_KEY: Argument = { ...KEY, usage: "[key]" };

/** Collects `name=value` pairs of a repeated flag. */
export function parseLabel(text: string, previous: unknown): Record<string, string> {
  const split = text.indexOf("=");
  if (split < 1) {
    throw new PiWorkflowsError("USAGE", `${JSON.stringify(text)} is not a label`, {
      hint: "Write NAME=VALUE, such as team=core; repeat the flag for more.",
    });
  }
  const labels = (previous ?? {}) as Record<string, string>;
  return { ...labels, [text.slice(0, split)]: text.slice(split + 1) };
}

/** A whole number from one up. */
export function parseCount(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < 1) {
    throw new PiWorkflowsError("USAGE", `${JSON.stringify(text)} is not a whole number from 1 up`);
  }
  return value;
}

/** How many deletions a prune may make: `20` or `25%`. */
export type DeleteBound = { count: number } | { fraction: number };

export function parseDeleteBound(text: string): DeleteBound {
  const match = /^(\d+)(%?)$/.exec(text);
  const value = Number(match?.[1]);
  if (!match || !Number.isSafeInteger(value) || (match[2] === "%" && value > 100)) {
    throw new PiWorkflowsError("USAGE", `${JSON.stringify(text)} is not a number of deletions`, {
      hint: "Write a count such as 20, or a share of the owned resources such as 25%.",
    });
  }
  return match[2] === "%" ? { fraction: value / 100 } : { count: value };
}
