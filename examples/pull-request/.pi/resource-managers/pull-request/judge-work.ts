import type { z } from "zod";
import type { Finding } from "./decide.ts";
import { repairResult, reviewResult, type RepairResult } from "./results.ts";

/** A repair that may be pushed. */
export type Repair = {
  changes: RepairResult["changes"];
  /** Checks that it is meant to mend. */
  failed: string[];
};

const WAIT_MS = 5 * 60_000;

/** What a review says of the head: findings that block, or nothing. */
export function judgeReview(output: unknown, headSha: string): Finding[] {
  const parsed = reviewResult.safeParse(output);
  if (!parsed.success) return [found("ReviewFailed", malformed(parsed.error))];
  if (parsed.data.headSha !== headSha) {
    return [found("ReviewFailed", "its result is about another head")];
  }
  const blocking = parsed.data.findings.filter(({ severity }) => severity === "blocking");
  if (blocking.length === 0) return [];
  const words = blocking
    .slice(0, 5)
    .map(({ path, line, message }) => `${path}${line === undefined ? "" : `:${line}`}: ${message}`);
  const more = blocking.length > 5 ? [`and ${blocking.length - 5} more`] : [];
  return [found("ReviewFindings", [...words, ...more].join("; "))];
}

/** What a repair must keep to. */
export type RepairRules = { headSha: string; paths: string[]; test: string[] };

/**
 * Whether the outcome of a repair may be pushed: made for this very head, with the spec's own tests
 * green on it, and within what a repair may touch. It never touches what decides what runs with a
 * token: workflows of GitHub Actions, git's own files, specs and definitions of this tool.
 */
export function judgeRepair(
  output: unknown,
  { headSha, paths, test }: RepairRules,
): Omit<Repair, "failed"> | Finding {
  const parsed = repairResult.safeParse(output);
  if (!parsed.success) return refused(malformed(parsed.error));
  const { changes, tests, refused: modes, headSha: madeFor } = parsed.data;
  if (madeFor !== headSha) return refused("it was made for another head");
  if (changes.length === 0) return refused("it changes nothing");
  if (!tests.passed || !isSame(tests.command, test)) {
    return refused(`${test.join(" ")} does not pass on it`);
  }
  if (modes.length > 0) return refused(`it changes modes or kinds of files: ${modes.join(", ")}`);
  const touched = changes.map(({ path }) => path);
  const twice = touched.find((path, index) => touched.indexOf(path) !== index);
  if (twice !== undefined) return refused(`it names ${twice} twice`);
  const outside = touched.filter((path) => !mayTouch(path, paths));
  if (outside.length > 0) return refused(`it may not touch ${outside.slice(0, 5).join(", ")}`);
  return { changes };
}

/** Names that no repair touches, wherever they stand in a path. Compared without case. */
const NEVER = [".git", ".github", ".pi", ".gitattributes", ".gitmodules", ".githooks", ".husky"];

function mayTouch(path: string, allowed: readonly string[]): boolean {
  const parts = path.split("/");
  const plain = parts.every((part) => part !== "" && part !== "." && part !== "..");
  if (!plain || /[\\\p{C}]/u.test(path)) return false;
  if (parts.some((part) => NEVER.includes(part.toLowerCase()))) return false;
  return allowed.length === 0 || allowed.some((prefix) => isBelow(path, prefix));
}

function isBelow(path: string, prefix: string): boolean {
  const folder = prefix.replace(/\/$/, "");
  return path === folder || path.startsWith(`${folder}/`);
}

function isSame(left: readonly string[], right: readonly string[]): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

function found(reason: "ReviewFindings" | "ReviewFailed", message: string): Finding {
  return { about: "Approved", reason, message: `review: ${message}`, waitMs: WAIT_MS };
}

function refused(message: string): Finding {
  const text = `the repair is not pushed: ${message}`;
  return { about: "ChecksPassing", reason: "RepairRefused", message: text, waitMs: WAIT_MS };
}

function malformed(error: z.ZodError): string {
  const issue = error.issues[0];
  return `its result is not as it should be: ${issue?.path.join(".") ?? ""} ${issue?.message ?? ""}`;
}
