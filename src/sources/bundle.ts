import path from "node:path";
import type { BuildFailure, BuildOptions, Message, Plugin } from "esbuild";
import type { Problem } from "../model/manifest.ts";
import { nearestName } from "../model/nearest.ts";
import { installedModules, noSuchExport, noSuchModule, PACKAGE } from "./installed.ts";
import { displayPath } from "./project.ts";
import { commitPlugin } from "./commit-plugin.ts";
import type { ProjectFiles } from "./project-files.ts";
import { conflictMarker } from "./text.ts";

/** What every bundle of project code has in common. */
export function bundleOptions(
  project: string,
  files: ProjectFiles,
  plugins: Plugin[],
): BuildOptions {
  return {
    ...(files.commit === undefined ? {} : { tsconfigRaw: files.commit.tsconfig.raw }),
    absWorkingDir: project,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    charset: "utf8",
    // None of the bundler's own: packages resolve as Node itself would resolve them.
    conditions: [],
    mainFields: ["main"],
    plugins: files.commit ? [commitPlugin(files.commit), ...plugins] : plugins,
    write: false,
    logLevel: "silent",
    logLimit: 0,
  };
}

/** The problems of a failed build, each at its place. @throws whatever is not a build failure. */
export async function buildProblems(
  project: string,
  files: ProjectFiles,
  thrown: unknown,
  entry: string,
): Promise<Problem[]> {
  if (!isBuildFailure(thrown)) throw thrown;
  // An import below a module of this product fails twice; the second error names the import.
  const errors = thrown.errors.filter(({ text }) => !BELOW_A_MODULE.test(text));
  const problems = errors.map((error) => buildProblem(project, error, entry));
  const conflicts = new Map<string, Problem>();
  for (const { file } of problems) {
    const conflict = conflicts.get(file) ?? (await conflictIn(project, files, file));
    if (conflict !== undefined) conflicts.set(file, conflict);
  }
  return [...conflicts.values(), ...problems.filter(({ file }) => !conflicts.has(file))];
}

async function conflictIn(
  project: string,
  files: ProjectFiles,
  file: string,
): Promise<Problem | undefined> {
  try {
    const bytes = await files.read(path.resolve(project, file));
    return conflictMarker(file, bytes.toString("utf8"));
  } catch {
    // A file that can't be read has been reported as that.
    return undefined;
  }
}

function buildProblem(project: string, { text, location }: Message, entry: string): Problem {
  if (location === null) {
    return { file: displayPath(project, entry), line: 1, column: 1, path: "", message: text };
  }
  const isEntry = location.file === "<stdin>";
  const file = isEntry ? location.file : displayPath(project, path.resolve(project, location.file));
  // The bundler counts columns in bytes from zero.
  const before = Buffer.from(location.lineText).subarray(0, location.column).toString("utf8");
  const message = worded(project, text);
  return { file, line: Math.max(1, location.line), column: before.length + 1, path: "", message };
}

const BELOW_A_MODULE = /^Cannot read directory .*\.js": not a directory$/;

function worded(project: string, text: string): string {
  if (text.startsWith("Could not resolve")) return unresolved(text);
  const [, module, name] = /^No matching export in "(.+)" for import "(.+)"$/.exec(text) ?? [];
  if (module === undefined || name === undefined) return text;
  return noSuchExport(project, path.resolve(project, module), name);
}

function unresolved(text: string): string {
  const [, own] = /\(originally "([^"]+)"\)/.exec(text) ?? [];
  if (own?.startsWith(`${PACKAGE}/`)) return noSuchModule(own);
  const [, specifier = ""] = /^Could not resolve "([^"]+)"/.exec(text) ?? [];
  const near = nearestName(specifier, installedModules().keys());
  const hint =
    near === undefined ? "check the path of the import" : `did you mean ${JSON.stringify(near)}?`;
  return `${text.replace(/^Could not resolve/, "can't find")}; ${hint}`;
}

function isBuildFailure(thrown: unknown): thrown is BuildFailure {
  return thrown instanceof Error && "errors" in thrown && Array.isArray(thrown.errors);
}
