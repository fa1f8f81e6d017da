import { setImmediate } from "node:timers/promises";
import { declarationSite } from "../resource-managers/site.ts";
import { LIMITS } from "../model/limits.ts";
import type { Problem } from "../model/manifest.ts";
import { tame } from "../model/thrown.ts";
import { type Misdeed, type ProcessGuard, Refused, stackOf, textOf } from "./guard.ts";
import { show } from "./issue.ts";
import { findProto } from "./json-names.ts";
import type { RawManifest, SpecDocument } from "./json-spec.ts";
import { fileStart } from "./place.ts";
import { displayPath } from "./project.ts";
import { type BundlePlaces, withBareStacks } from "./source-map.ts";
import type { SpecThunk } from "./spec-bundle.ts";
import { problemOf } from "./text.ts";
import { withTimeLimit } from "./time-limit.ts";

export type EvaluateOptions = {
  project: string;
  places: BundlePlaces;
  guard: ProcessGuard;
  /** Milliseconds that one file may take. */
  evaluateMs: number;
  /** Called before each file, so that one that never ends can be named. */
  onFile: (file: string) => void;
};

/** Evaluates spec files one after another; each default export is a manifest or an array of them. */
export async function evaluateSpecs(
  thunks: readonly Pick<SpecThunk, "file" | "evaluate">[],
  options: EvaluateOptions,
): Promise<SpecDocument> {
  const manifests: RawManifest[] = [];
  const problems: Problem[] = [];
  const all = new Set(thunks.map(({ file }) => displayPath(options.project, file)));
  for (const { file, evaluate } of thunks) {
    options.onFile(file);
    const shown = displayPath(options.project, file);
    const found = await evaluateFile(shown, evaluate, options);
    // Unhandled rejections are reported a turn after they happen; one without a stack is this file's.
    await setImmediate();
    manifests.push(...found.manifests);
    problems.push(...found.problems, ...misdeedProblems(shown, all, options));
  }
  const spoilt = new Set(problems.map((problem) => problem.specFile ?? problem.file));
  return { manifests: manifests.filter(({ place }) => !spoilt.has(place.file)), problems };
}

async function evaluateFile(
  shown: string,
  evaluate: () => Promise<Record<string, unknown>>,
  { places, evaluateMs }: EvaluateOptions,
): Promise<SpecDocument> {
  try {
    const exported = await withTimeLimit(async () => {
      const module = await evaluate();
      return { module, value: await module["default"] };
    }, evaluateMs);
    if (!("default" in exported.module)) {
      return refuse(shown, "has no default export; write `export default defineResource(…)`");
    }
    return manifestsOf(shown, exported.value, places);
  } catch (value) {
    const thrown = tame(value);
    if (thrown instanceof Refused) return { manifests: [], problems: [] };
    return { manifests: [], problems: [thrownProblem(shown, thrown, places)] };
  }
}

function manifestsOf(shown: string, exported: unknown, places: BundlePlaces): SpecDocument {
  if (typeof exported === "function") {
    return refuse(shown, "exports a function; export the manifest, or an array, that it returns");
  }
  const values: unknown[] = Array.isArray(exported) ? exported : [exported];
  if (values.length > LIMITS.manifestsPerFile) {
    const allowed = LIMITS.manifestsPerFile;
    return refuse(shown, `exports ${values.length} manifests; at most ${allowed} are allowed`);
  }
  const wrong = values.find((value) => typeof value !== "object" || value === null);
  if (values.length > 0 && wrong !== undefined) {
    return refuse(shown, `must export a manifest or an array of manifests, not ${show(wrong)}`);
  }
  const foreign = values.map((value) => findProto(value)).find((path) => path !== undefined);
  if (foreign !== undefined) return refuse(shown, `${foreign}: this name is not allowed`);
  return { manifests: values.map((value) => declared(shown, value, places)), problems: [] };
}

function declared(shown: string, value: unknown, places: BundlePlaces): RawManifest {
  const stack = withBareStacks(() => declarationSite(value));
  const place =
    (stack === undefined ? undefined : places.ofStack(stack, shown)) ?? fileStart(shown);
  return { value, place, at: () => place };
}

function refuse(shown: string, message: string): SpecDocument {
  return { manifests: [], problems: [problemOf(shown, message)] };
}

/** A misdeed belongs to the spec file that its stack leads to, else to the one just evaluated. */
function misdeedProblems(
  shown: string,
  all: ReadonlySet<string>,
  { guard, places }: EvaluateOptions,
): Problem[] {
  return guard.take().map(({ message, stack }: Misdeed) => {
    const culprit = places.ofStack(stack)?.file;
    return placed(
      culprit !== undefined && all.has(culprit) ? culprit : shown,
      message,
      stack,
      places,
    );
  });
}

/** The problem of an error thrown while the file `shown` was evaluated, placed where it was thrown. */
export function thrownProblem(shown: string, thrown: unknown, places: BundlePlaces): Problem {
  return placed(shown, places.worded(textOf(thrown)), stackOf(thrown), places);
}

function placed(shown: string, message: string, stack: string, places: BundlePlaces): Problem {
  const place = places.ofStack(stack) ?? fileStart(shown);
  const problem = { ...place, path: "", message };
  return place.file === shown ? problem : { ...problem, specFile: shown };
}
