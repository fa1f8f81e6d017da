import type { ManagerProposal } from "../model/batch.ts";
import { LIMITS } from "../model/limits.ts";
import { managerName, type Problem } from "../model/manifest.ts";
import { tame, textOf } from "../model/thrown.ts";
import { isResourceManager, type ResourceManager } from "../resource-managers/define.ts";
import { declarationSite } from "../resource-managers/site.ts";
import type { DefinitionBundle } from "./definition-bundle.ts";
import type { DefinitionFile } from "./definition-files.ts";
import { describeSources, type SourceFault } from "./describe-sources.ts";
import { show } from "./issue.ts";
import { secretPathsOf } from "./json-schema.ts";
import { displayPath } from "./project.ts";
import { prepareSchema, type Schema } from "./schema.ts";
import type { BundlePlaces } from "./source-map.ts";
import { problemOf } from "./text.ts";

/** A definition that can be used: what checks specs, and what the server is offered. */
export type LoadedDefinition = {
  manager: ResourceManager;
  schema: Schema | undefined;
  proposal: ManagerProposal;
};

type CheckedDefinition = LoadedDefinition | { problems: Problem[] };

/** Checks what a definition file exports, and describes it as plain data. */
export async function checkDefinition(
  file: DefinitionFile,
  exported: unknown,
  bundle: DefinitionBundle,
  { project, places }: { project: string; places: BundlePlaces },
): Promise<CheckedDefinition> {
  const shown = displayPath(project, file.path);
  if (!isResourceManager(exported)) {
    const found = exported === undefined ? "has no default export" : `exports ${show(exported)}`;
    const message = `${found}; write \`export default defineResourceManager({ … })\``;
    return { problems: [problemOf(shown, message)] };
  }
  const wrong = faults(file, exported);
  const [spec, status] = await Promise.all([
    schemaOf("spec", exported.spec, wrong),
    schemaOf("status", exported.status, wrong),
  ]);
  const sources = describeSources(exported.sources, Date.now());
  if (wrong.length > 0 || sources.faults.length > 0) {
    const misplaced = sources.faults.map((fault) => sourceProblem(shown, fault, places));
    return { problems: [...wrong.map((message) => problemOf(shown, message)), ...misplaced] };
  }
  return {
    manager: exported,
    schema: spec,
    proposal: {
      name: file.name,
      path: file.path,
      scope: file.scope,
      digest: bundle.digest,
      inputs: bundle.inputs,
      bundle: bundle.bundle,
      ...(spec?.json === undefined ? {} : { specSchema: spec.json }),
      ...(spec?.stored === undefined ? {} : { storedSchema: spec.stored }),
      ...(status?.json === undefined ? {} : { statusSchema: status.json }),
      secretPaths: secretPathsOf(spec?.json),
      sources: sources.sources,
      deadlineMs: exported.deadlineMs ?? LIMITS.deadlineMs,
      maxConcurrent: exported.maxConcurrent ?? LIMITS.concurrencyPerManager,
    },
  };
}

async function schemaOf(
  field: string,
  schema: unknown,
  wrong: string[],
): Promise<Schema | undefined> {
  if (schema === undefined) return undefined;
  try {
    return await prepareSchema(schema);
  } catch (value) {
    const thrown = tame(value);
    wrong.push(`${field}: ${thrown instanceof Error ? thrown.message : textOf(thrown)}`);
    return undefined;
  }
}

const FUNCTIONS = [
  ["initialStatus", "what it remembers of a new resource, initialStatus: () => ({}) for nothing"],
  ["reconcile", "the pass over one resource, async reconcile(ctx, resource) { … }"],
] as const;

/** Everything wrong with a definition but its schemas. */
function faults(file: DefinitionFile, manager: ResourceManager): string[] {
  const wrong: string[] = [];
  const name = JSON.stringify(file.name);
  const unusable = managerName.safeParse(file.name).error?.issues[0];
  if (unusable) {
    wrong.push(`name: ${name}, as the file is named, ${unusable.message}; rename the file`);
  } else if (manager.name !== file.name) {
    wrong.push(`name: must be ${name}, as the file's name says, not ${show(manager.name)}`);
  }
  for (const [field, form] of FUNCTIONS) {
    const given: unknown = manager[field];
    if (typeof given === "function") continue;
    const fault = given === undefined ? "is missing" : `must be a function, not ${show(given)}`;
    wrong.push(`${field}: ${fault}: ${form}`);
  }
  const { deadlineMs, maxConcurrent } = manager;
  if (deadlineMs !== undefined && !isWhole(deadlineMs, 1, LIMITS.maxDeadlineMs)) {
    wrong.push(`deadlineMs: must be a whole number from 1 to ${LIMITS.maxDeadlineMs}`);
  }
  if (maxConcurrent !== undefined && !isWhole(maxConcurrent, 1, LIMITS.maxConcurrent)) {
    wrong.push(`maxConcurrent: must be a whole number from 1 to ${LIMITS.maxConcurrent}`);
  }
  return wrong;
}

/** Where the source is declared, as far as that is in the definition or what it imports. */
function sourceProblem(shown: string, fault: SourceFault, places: BundlePlaces): Problem {
  const stack = declarationSite(fault.source);
  const place = stack === undefined ? undefined : places.ofStack(stack);
  return { ...problemOf(shown, fault.message), ...place };
}

function isWhole(value: unknown, from: number, to: number): boolean {
  return Number.isInteger(value) && (value as number) >= from && (value as number) <= to;
}
