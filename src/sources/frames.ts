import { realpathSync } from "node:fs";
import path from "node:path";
import type { Problem } from "../model/manifest.ts";
import { loadCodeFrame } from "./lazy-packages.ts";
import type { ProjectFiles } from "./project-files.ts";

/** More code frames than this are not read by anyone. */
const MAX_FRAMES = 100;
/** Lines longer than this (minified, data) make a frame unreadable. */
const MAX_LINE = 400;

/** Adds to each problem the lines around its place, as far as its file can be read. */
export async function withFrames(
  project: string,
  files: ProjectFiles,
  problems: readonly Problem[],
  inline: ReadonlyMap<string, string>,
): Promise<Problem[]> {
  if (problems.length === 0) return [];
  const codeFrameColumns = loadCodeFrame();
  const texts = new Map<string, string | undefined>(inline);
  for (const { file } of problems.slice(0, MAX_FRAMES)) {
    if (texts.has(file)) continue;
    const target = path.resolve(project, file);
    texts.set(file, leadsOut(project, target) ? undefined : await read(files, target));
  }
  return problems.map((problem, index) => {
    if (index >= MAX_FRAMES || problem.frame !== undefined) return problem;
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

/** Whether a link in the project leads elsewhere: lines of a file there are nobody's to show. */
function leadsOut(project: string, file: string): boolean {
  const inside = `${project}${path.sep}`;
  try {
    return file.startsWith(inside) && !realpathSync(file).startsWith(inside);
  } catch {
    // Not on disk, so no link of it.
    return false;
  }
}

async function read(files: ProjectFiles, file: string): Promise<string | undefined> {
  try {
    return (await files.read(file)).toString("utf8").replace(/^\uFEFF/, "");
  } catch {
    // No text to show, for instance because it is what the problem is about.
    return undefined;
  }
}
