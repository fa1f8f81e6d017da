import type { Problem } from "../model/manifest.ts";
import type { Asked, Chance } from "./chance.ts";
import { evaluateSpecs, type EvaluateOptions } from "./evaluate-specs.ts";
import type { RawManifest, SpecDocument } from "./json-spec.ts";
import { movedFields, type MovedField } from "./moved-fields.ts";
import { displayPath } from "./project.ts";
import { bundleSpecs, type SpecBundle, type SpecBundleOptions } from "./spec-bundle.ts";
import { problemOf } from "./text.ts";

export type TypeScriptOptions = EvaluateOptions &
  Omit<SpecBundleOptions, "evaluate"> & { chance: Chance };

/** What TypeScript spec files hold. */
export type TypeScriptSpecs = SpecDocument &
  Pick<SpecBundle, "inputs" | "imports"> & {
    /** Manifests that are not the same each time, which must not be used. */
    unsteady: Unsteady[];
  };

/** A manifest that came out otherwise under another clock and other random numbers. */
export type Unsteady = {
  manifest: RawManifest;
  fields: MovedField[];
  /** The clocks and random sources that were asked, with the places where. */
  asked: string;
};

/**
 * Builds and evaluates TypeScript spec files. Where any code asked a clock or a random source, all
 * are evaluated again in a world in which these answer otherwise: without asking, nothing can depend
 * on them, so files that don't pay nothing (a second evaluation would double that part of a load).
 */
export async function loadTypeScriptSpecs(
  files: readonly string[],
  options: TypeScriptOptions,
): Promise<TypeScriptSpecs> {
  const { chance } = options;
  const inFirst = <T>(run: () => Promise<T>) => inWorld("first", chance, run);
  const bundle = await bundleSpecs(files, { ...options, evaluate: inFirst });
  const first = await inFirst(() => evaluateSpecs(bundle.thunks, options));
  const asked = chance.take();
  const again = asked.length === 0 ? undefined : await evaluateAgain(bundle, first, options);
  const { manifests, problems, unsteady } =
    again === undefined ? { ...first, unsteady: [] } : compare(first, again, asked, options);
  const { inputs, imports } = bundle;
  return { manifests, problems: [...bundle.problems, ...problems], unsteady, inputs, imports };
}

async function inWorld<T>(
  world: "first" | "second",
  chance: Chance,
  run: () => Promise<T>,
): Promise<T> {
  chance.begin(world);
  try {
    return await run();
  } finally {
    chance.end();
  }
}

/** Evaluates what could be evaluated again, in new instances of its modules. */
async function evaluateAgain(
  { thunks }: SpecBundle,
  { manifests, problems }: SpecDocument,
  options: TypeScriptOptions,
): Promise<SpecDocument> {
  const spoilt = new Set(problems.map(({ file, specFile }) => specFile ?? file));
  const sound = thunks
    .filter(({ file }) => !spoilt.has(displayPath(options.project, file)))
    .map(({ file, evaluateAgain: evaluate }) => ({ file, evaluate }));
  if (manifests.length === 0) return { manifests: [], problems: [] };
  return inWorld("second", options.chance, () => evaluateSpecs(sound, options));
}

function compare(
  first: SpecDocument,
  second: SpecDocument,
  asked: readonly Asked[],
  { places }: TypeScriptOptions,
): SpecDocument & { unsteady: Unsteady[] } {
  const found = { manifests: [] as RawManifest[], problems: [...first.problems] };
  const unsteady: Unsteady[] = [];
  const failed = new Map(
    second.problems.map((problem) => [problem.specFile ?? problem.file, problem]),
  );
  const again = byFile(second.manifests);
  for (const [file, manifests] of byFile(first.manifests)) {
    const others = again.get(file) ?? [];
    const failure = failed.get(file);
    if (failure !== undefined || others.length !== manifests.length) {
      found.problems.push(failure ? failsAgain(failure) : otherCount(file, manifests, others));
      continue;
    }
    for (const [index, manifest] of manifests.entries()) {
      const fields = movedFields(manifest.value, others[index]?.value);
      if (fields.length === 0) found.manifests.push(manifest);
      else unsteady.push({ manifest, fields, asked: describeAsked(asked, places) });
    }
  }
  return { ...found, unsteady };
}

function byFile(manifests: readonly RawManifest[]): Map<string, RawManifest[]> {
  const files = new Map<string, RawManifest[]>();
  for (const manifest of manifests) {
    const group = files.get(manifest.place.file);
    if (group) group.push(manifest);
    else files.set(manifest.place.file, [manifest]);
  }
  return files;
}

function failsAgain(failure: Problem): Problem {
  const message = `fails when it is evaluated again, under another clock and other random numbers: ${failure.message}`;
  return { ...failure, message };
}

function otherCount(
  file: string,
  { length: before }: readonly RawManifest[],
  { length: after }: readonly RawManifest[],
): Problem {
  const message = `exports ${before} manifests, and ${after} when it is evaluated again under another clock and other random numbers`;
  return problemOf(file, message);
}

const ASKED_SHOWN = 3;

/** `Math.random at lib/x.ts:3:5`, the first few. */
function describeAsked(asked: readonly Asked[], places: TypeScriptOptions["places"]): string {
  const texts = asked.map(({ source, stack }) => {
    const place = places.ofStack(stack);
    return place === undefined
      ? source
      : `${source} at ${place.file}:${place.line}:${place.column}`;
  });
  const distinct = [...new Set(texts)];
  const more = distinct.length - ASKED_SHOWN;
  return distinct.slice(0, ASKED_SHOWN).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
