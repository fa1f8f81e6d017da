import type { ChildProcess } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { ManagerProposal } from "../model/batch.ts";
import { PiWorkflowsError } from "../model/errors.ts";
import type { WorkflowProposal } from "../model/graph.ts";
import { LIMITS } from "../model/limits.ts";
import type { LoadedSpecs, Problem } from "../model/manifest.ts";
import { isDefinition, RESOURCE_MANAGERS, WORKFLOWS } from "../sources/definition-files.ts";
import { displayPath, globalDefinitionsFolder } from "../sources/project.ts";
import { ALL_TYPESCRIPT, isTypeScript } from "../sources/spec-file.ts";
import type { WorkflowFile } from "../sources/workflow-loader.ts";
import { SOME_FILE } from "./resolver-marks.ts";
import { type ResolverEnd, type ResolverLimits, runResolver } from "./resolver-process.ts";

/** What to load. Paths are absolute; files outside the project are allowed only where named. */
export type ResolveRequest = {
  /** Canonical path of the project. */
  project: string;
  /** Absolute paths of spec files, in any order. */
  files: string[];
  /** Manifests given as text, e.g. standard input; `name` stands for the file in errors. */
  inline?: { name: string; text: string }[];
  /** Names of managers to resolve even where no spec names them; "all" for every definition found. */
  managers?: string[] | "all";
  /**
   * Workflows to resolve, by name or absolute path; "all" for every one that is found. They are
   * loaded last, and nothing that is wrong with one is a problem of the specs.
   */
  workflows?: string[] | "all";
  /**
   * Folder of resource managers for every project, beside which lies that of workflows; by default
   * the user's.
   */
  globalFolder?: string;
  /**
   * Reads spec files, definitions and local imports as blobs of this commit instead of the disk;
   * packages come from the project's node_modules.
   */
  revision?: { gitDir: string; commit: string };
  signal?: AbortSignal;
};

/** What the files mean. `managers` holds the definitions that the specs use, with their bundles. */
export type Resolution = Omit<LoadedSpecs, "managers"> & {
  managers: ManagerProposal[];
  /** By spec file, the local files that it imports, directly or not; as places name them. */
  imports?: Record<string, string[]>;
} & ResolvedWorkflows;

/** What the workflows asked for are. */
export type ResolvedWorkflows = {
  /** Those that can be used, with their bundles. */
  workflows: WorkflowProposal[];
  /** The files found, those of others and hidden ones too. */
  workflowFiles: WorkflowFile[];
  /** What is wrong with the others. Blocks no spec and no prune: files of specs are all accounted for. */
  workflowProblems: Problem[];
};

/** An empty resolution. */
export function nothingResolved(): Resolution {
  return {
    desired: [],
    managers: [],
    problems: [],
    files: [],
    workflows: [],
    workflowFiles: [],
    workflowProblems: [],
  };
}

/** Files that end or hang their process before the rest of a load is given up. */
const MAX_FAULTS = 3;

/**
 * Loads spec files and definitions in a child process of its own with limits of time and memory:
 * the only place where project code is evaluated outside a runner. All problems are returned at
 * once; a child that hangs, dies or runs out of memory becomes a problem at the file it was in, and
 * the rest is loaded again without that file. `child` is one that was started ahead.
 * @throws PiWorkflowsError RESOLVE_FAILED where the child can't be started at all, or `signal` aborts.
 */
export async function resolve(
  request: ResolveRequest,
  limits: ResolverLimits = LIMITS,
  child?: ChildProcess,
): Promise<Resolution> {
  const scratch = realpathSync(mkdtempSync(path.join(tmpdir(), "pi-workflows-")));
  try {
    return await resolveWithout(request, limits, { scratch, child });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Loads of more files than this are marked file by file only once something went wrong. */
const EXACT_MARKS = 500;

/** What tries before found impossible to get past. */
type Excluded = {
  files: Set<string>;
  definitions: Set<string>;
  problems: Problem[];
  exactMarks: boolean;
};

async function resolveWithout(
  request: ResolveRequest,
  limits: ResolverLimits,
  { scratch, child }: { scratch: string; child: ChildProcess | undefined },
): Promise<Resolution> {
  const deadline = Date.now() + limits.resolveMs;
  const exactMarks = request.files.length <= EXACT_MARKS;
  const none = { files: new Set<string>(), definitions: new Set<string>(), problems: [] };
  const excluded: Excluded = { ...none, exactMarks };
  let ahead = child;
  for (let fault = 0; ; fault += 1) {
    const state = { scratch, deadline, excluded, child: ahead };
    const tried = await attempt(request, limits, state);
    const { end, resolution } = tried;
    if (end.kind === "failed" && ahead !== undefined) {
      // It may have died while it waited.
      ahead = undefined;
      fault -= 1;
      continue;
    }
    ahead = undefined;
    if (end.kind === "done" || isOfWorkflows(tried)) {
      resolution.problems.unshift(...excluded.problems);
      if (end.kind === "done") return resolution;
      const workflows = await workflowsAgain(tried, request, { limits, scratch, deadline });
      return { ...resolution, ...workflows };
    }
    if (end.kind === "failed") throw new PiWorkflowsError("RESOLVE_FAILED", end.message);
    if (end.kind === "aborted") throw new PiWorkflowsError("RESOLVE_FAILED", "Loading was stopped");
    if (end.kind === "fault" && end.file === SOME_FILE) {
      // The same again, to learn which file it was.
      excluded.exactMarks = true;
      fault -= 1;
      continue;
    }
    const isLast = end.kind === "overall-limit" || fault === MAX_FAULTS;
    if (isLast || !exclude(end, request, excluded)) {
      return givenUp(end, limits, excluded);
    }
  }
}

async function attempt(
  request: ResolveRequest,
  limits: ResolverLimits,
  state: {
    scratch: string;
    deadline: number;
    excluded: Excluded;
    child: ChildProcess | undefined;
  },
): Promise<Attempt> {
  const { scratch, deadline, excluded, child } = state;
  const resolution = nothingResolved();
  let specsLoaded = false;
  const end = await runResolver({
    request: {
      project: request.project,
      files: request.files.filter((file) => !excluded.files.has(file)),
      inline: request.inline ?? [],
      managers: request.managers ?? [],
      workflows: request.workflows ?? [],
      globalFolder: request.globalFolder ?? globalDefinitionsFolder(),
      scratch,
      revision: request.revision,
      evaluateMs: limits.evaluateMs,
      skip: [...excluded.definitions],
      exactMarks: excluded.exactMarks,
    },
    child,
    limits,
    deadline,
    signal: request.signal,
    onDesired: (items) => resolution.desired.push(...items),
    onReport(report) {
      if (report.kind === "managers") resolution.managers.push(...report.items);
      else if (report.kind === "problems") resolution.problems.push(...report.items);
      else if (report.kind === "files") resolution.files.push(...report.items);
      else if (report.kind === "imports") Object.assign((resolution.imports ??= {}), report.items);
      else if (report.kind === "specsLoaded") specsLoaded = true;
      else if (report.kind === "workflows") {
        resolution.workflows.push(...report.workflows);
        resolution.workflowFiles.push(...report.files);
        resolution.workflowProblems.push(...report.problems);
      }
    },
  });
  return { end, resolution, specsLoaded };
}

/** One try; `specsLoaded`: all but workflows is in `resolution`. */
type Attempt = { end: ResolverEnd; resolution: Resolution; specsLoaded: boolean };

/** Whether a child was at workflows when it ended, so that the specs need not be loaded again. */
function isOfWorkflows({ end, specsLoaded }: Attempt): boolean {
  if (!specsLoaded || !(end.kind === "fault" || end.kind === "overall-limit")) return false;
  return end.file === undefined || isDefinition(WORKFLOWS, end.file);
}

/** Loads workflows again, without those that a child did not get past. */
async function workflowsAgain(
  first: Attempt,
  request: ResolveRequest,
  { limits, ...state }: { limits: ResolverLimits; scratch: string; deadline: number },
): Promise<ResolvedWorkflows> {
  const only = { ...request, files: [], inline: [], managers: [] };
  const problems: Problem[] = [];
  const excluded = { files: new Set<string>(), definitions: new Set<string>(), problems };
  let { end, resolution } = first;
  for (let fault = 1; end.kind !== "done"; fault += 1) {
    if (end.kind === "failed") throw new PiWorkflowsError("RESOLVE_FAILED", end.message);
    if (end.kind === "aborted") throw new PiWorkflowsError("RESOLVE_FAILED", "Loading was stopped");
    const isLast = end.kind === "overall-limit" || fault > MAX_FAULTS || end.file === undefined;
    problems.push(problem(end.file ?? ".", messageOf(end, limits)));
    if (isLast) {
      problems.push(
        problem(".", "no other workflow was loaded, because loading had to be given up"),
      );
      break;
    }
    excluded.definitions.add(path.resolve(request.project, end.file as string));
    const again = { ...state, child: undefined, excluded: { ...excluded, exactMarks: true } };
    ({ end, resolution } = await attempt(only, limits, again));
  }
  const { workflows, workflowFiles, workflowProblems } = resolution;
  return { workflows, workflowFiles, workflowProblems: [...problems, ...workflowProblems] };
}

/** Takes the file that a child did not get past out of the next try; false where there is none. */
function exclude(
  end: ResolverEnd & { kind: "fault" },
  request: ResolveRequest,
  excluded: Excluded,
): boolean {
  const { project, files } = request;
  const guilty =
    end.file === ALL_TYPESCRIPT
      ? files.filter(isTypeScript)
      : files.filter((file) => displayPath(project, file) === end.file);
  for (const file of guilty) {
    excluded.files.add(file);
    excluded.problems.push(problem(displayPath(project, file), end.message));
  }
  if (guilty.length > 0) return true;
  if (end.file === undefined || !isDefinition(RESOURCE_MANAGERS, end.file)) return false;
  excluded.definitions.add(path.resolve(project, end.file));
  excluded.problems.push(problem(end.file, end.message));
  return true;
}

/** Nothing is returned as loaded: with one file unaccounted for, absence proves nothing. */
function givenUp(
  end: ResolverEnd & { kind: "fault" | "overall-limit" },
  limits: ResolverLimits,
  excluded: Excluded,
): Resolution {
  const rest = "nothing else was loaded, because loading had to be given up";
  const problems = [
    ...excluded.problems,
    problem(end.file === SOME_FILE ? "." : (end.file ?? "."), messageOf(end, limits)),
    problem(".", rest),
  ];
  return { ...nothingResolved(), problems };
}

function messageOf(
  end: ResolverEnd & { kind: "fault" | "overall-limit" },
  { resolveMs }: ResolverLimits,
): string {
  if (end.kind === "fault") return end.message;
  return `loading took longer than ${resolveMs / 1_000} s and was stopped`;
}

function problem(file: string, message: string): Problem {
  return { file, line: 1, column: 1, path: "", message };
}
