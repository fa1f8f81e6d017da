import { text } from "node:stream/consumers";
import { makePlan } from "../apply/make-plan.ts";
import type { PlanSource } from "../apply/target.ts";
import type { PruneRequest } from "../diff/guard.ts";
import type { PlanRequest } from "../diff/plan.ts";
import { PiWorkflowsError } from "../model/errors.ts";
import type { Problem } from "../model/manifest.ts";
import type { Plan } from "../model/plan.ts";
import type { Resolution, ResolveRequest } from "../runner/resolver.ts";
import { openWarmResolver } from "../runner/warm-resolver.ts";
import type { DeleteBound } from "./flags.ts";
import type { Cli } from "./invocation.ts";
import { parseArgument, textOfArgument } from "./json-argument.ts";
import { personOrigin } from "./person.ts";
import { selectSpecs, STDIN_NAME, type Selection } from "./select-specs.ts";

/** What `apply` and `diff` take alike, so that they make the same plan. */
export type LoadOptions = {
  file?: string[];
  recursive?: boolean;
  set?: string;
  force?: boolean;
  prune?: boolean;
  allowEmpty?: boolean;
  maxDeletes?: DeleteBound;
  confirmPrune?: string;
};

/** What is to be loaded, and what is asked of its plan. */
export type Selected = {
  specs: Omit<ResolveRequest, "signal">;
  /** What could not be looked at. */
  problems: Problem[];
  request: PlanRequest;
};

/** Specs that were loaded, and what is asked of their plan. */
export type Loaded = { resolution: Resolution; request: PlanRequest };

/** The spec that a person gives on the command line. */
export type SpecArguments = { manager: string; key: string; spec: string };

const resolver = openWarmResolver();

/** Starts what a load of this project needs, while what to load is still looked for. */
export function prepareLoad({ project }: Pick<Cli, "project">): void {
  resolver.prepare(project);
}

/** Ends what was started and is not needed. */
export function endPrepared(): void {
  resolver.close();
}

/** What the command line is called in places and origins. */
const ARGUMENT_NAME = "<command line>";
const SPEC_ARGUMENT = { what: "spec", example: '{"text": "hi"}' };

/**
 * Finds the files that the flags name.
 * @throws PiWorkflowsError USAGE
 */
export async function selectFiles(cli: Cli, options: LoadOptions): Promise<Selected> {
  const paths = options.file ?? [];
  if (paths.length === 0) {
    throw new PiWorkflowsError("USAGE", "nothing says which specs", {
      hint: "Give -f with a file, a folder, a glob, or - for standard input: -f .pi/resources.",
    });
  }
  const { project } = cli;
  prepareLoad(cli);
  const selection = selectSpecs({
    project,
    paths,
    recursive: options.recursive === true,
    forPrune: options.prune === true,
  });
  const inline = selection.standardInput
    ? [{ name: STDIN_NAME, text: await readStandardInput(cli) }]
    : [];
  const owner = { kind: "apply" as const, name: options.set ?? "default" };
  const request: PlanRequest = { project, owner, force: options.force === true };
  if (options.prune) request.prune = pruneRequest(options, selection);
  const { files, problems } = selection;
  return { specs: { project, files, inline, workflows: "all" }, problems, request };
}

function pruneRequest(options: LoadOptions, selection: Selection): PruneRequest {
  return {
    covers: selection.covers,
    allowEmpty: options.allowEmpty === true,
    ...(options.maxDeletes ? { guard: guardOf(options.maxDeletes) } : {}),
    ...(options.confirmPrune === undefined ? {} : { confirm: options.confirmPrune }),
  };
}

/** A bound given as one number is the whole bound. */
export function guardOf(bound: DeleteBound): { count: number; fraction: number } {
  return "count" in bound ? { count: bound.count, fraction: 0 } : { count: 0, ...bound };
}

async function readStandardInput(cli: Cli): Promise<string> {
  if (process.stdin.isTTY) cli.output.note("reading specs from the terminal; Ctrl-D ends them");
  return text(process.stdin);
}

/**
 * Takes the one spec that a person gives, who then owns the resource.
 * @throws PiWorkflowsError USAGE
 */
export async function selectArguments(
  cli: Cli,
  { manager, key, spec }: SpecArguments,
  force: boolean,
): Promise<Selected> {
  const { project } = cli;
  const value = parseArgument(await textOfArgument(cli, spec, SPEC_ARGUMENT), SPEC_ARGUMENT);
  const text = JSON.stringify({ resourceManager: manager, key, spec: value }, null, 2);
  return {
    specs: { project, files: [], inline: [{ name: ARGUMENT_NAME, text }], workflows: "all" },
    problems: [],
    request: { project, owner: personOrigin("").owner, force },
  };
}

/**
 * Loads what was selected in a child process; problems of the files are in the resolution.
 * @throws PiWorkflowsError RESOLVE_FAILED
 */
export async function loadSelected(cli: Cli, selected: Selected): Promise<Loaded> {
  const { specs, problems, request } = selected;
  const resolution = await resolver.resolve({ ...specs, signal: cli.signal });
  return {
    resolution: { ...resolution, problems: [...problems, ...resolution.problems] },
    request,
  };
}

/** The plan of what was loaded, against a store. */
export function planOf({ resolution, request }: Loaded, source: PlanSource): Promise<Plan> {
  return makePlan(source, resolution, request);
}
