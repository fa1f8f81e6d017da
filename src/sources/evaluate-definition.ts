import { writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { Problem } from "../model/manifest.ts";
import type { DefinitionBundle } from "./definition-bundle.ts";
import { tame } from "../model/thrown.ts";
import { thrownProblem } from "./evaluate-specs.ts";
import { type ProcessGuard, Refused } from "./guard.ts";
import { displayPath } from "./project.ts";
import type { BundlePlaces } from "./source-map.ts";
import { problemOf } from "./text.ts";
import { withTimeLimit } from "./time-limit.ts";

export type EvaluateDefinitionOptions = {
  project: string;
  /** A folder of this load's own, for bundles. */
  scratch: string;
  places: BundlePlaces;
  guard: ProcessGuard;
  evaluateMs: number;
  /** Called before each definition is evaluated. */
  onFile: (file: string) => void;
};

/** The definition's file, and what its bundle is to be called in `scratch`. */
export type EvaluatedFile = { path: string; bundleName: string };

/**
 * Evaluates a definition that was built, and has `check` look at its default export: what either
 * throws is a problem at its place.
 */
export async function evaluateDefinition<T>(
  { path: file, bundleName }: EvaluatedFile,
  built: DefinitionBundle | { problems: Problem[] },
  options: EvaluateDefinitionOptions,
  check: (exported: unknown, bundle: DefinitionBundle) => Promise<T> | T,
): Promise<T | { problems: Problem[] }> {
  if ("problems" in built) return built;
  const { project, scratch, places, guard, evaluateMs } = options;
  const shown = displayPath(project, file);
  const evaluated = path.join(scratch, bundleName);
  writeFileSync(evaluated, built.bundle);
  places.add(evaluated, built.map);
  options.onFile(file);
  try {
    const { default: exported } = await withTimeLimit(
      async () => (await import(pathToFileURL(evaluated).href)) as { default?: unknown },
      evaluateMs,
    );
    return await check(exported, built);
  } catch (value) {
    const thrown = tame(value);
    if (!(thrown instanceof Refused)) return { problems: [thrownProblem(shown, thrown, places)] };
    return { problems: [problemOf(shown, thrown.message)] };
  } finally {
    // What a definition prints while it loads goes nowhere; that is no reason to refuse it.
    guard.take();
  }
}
