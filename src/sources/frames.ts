import { readFileSync } from "node:fs";
import path from "node:path";
import type { Problem } from "../model/manifest.ts";

/** More code frames than this are not read by anyone. */
const MAX_FRAMES = 100;
/** Lines longer than this (minified, data) make a frame unreadable. */
const MAX_LINE = 400;

/** Adds to each problem the lines around its place, as far as its file can be read. */
export async function withFrames(
  project: string,
  problems: readonly Problem[],
  inline: ReadonlyMap<string, string>,
): Promise<Problem[]> {
  if (problems.length === 0) return [];
  const { codeFrameColumns } = await import("@babel/code-frame");
  const texts = new Map<string, string | undefined>(inline);
  return problems.map((problem, index) => {
    if (index >= MAX_FRAMES || problem.frame !== undefined) return problem;
    if (!texts.has(problem.file)) texts.set(problem.file, read(project, problem.file));
    const text = texts.get(problem.file);
    const line = text?.split(/\r?\n/, problem.line)[problem.line - 1];
    if (text === undefined || line === undefined || line.length > MAX_LINE) return problem;
    const start = { line: problem.line, column: problem.column };
    const frame = codeFrameColumns(
      text.replaceAll("\r\n", "\n"),
      { start },
      { linesAbove: 2, linesBelow: 2 },
    );
    return { ...problem, frame };
  });
}

function read(project: string, file: string): string | undefined {
  try {
    return readFileSync(path.resolve(project, file), "utf8").replace(/^\uFEFF/, "");
  } catch {
    // No text to show, for instance because it is what the problem is about.
    return undefined;
  }
}
