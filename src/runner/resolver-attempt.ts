import type { ChildProcess } from "node:child_process";
import type { ManagerProposal } from "../model/batch.ts";
import { PiWorkflowsError } from "../model/errors.ts";
import type { WorkflowProposal } from "../model/graph.ts";
import type { LoadedSpecs, Problem } from "../model/manifest.ts";
import { globalDefinitionsFolder } from "../sources/project.ts";
import type { WorkflowFile } from "../sources/workflow-loader.ts";
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
export const MAX_FAULTS = 3;

/** What tries before found impossible to get past. */
export type Excluded = {
  files: Set<string>;
  definitions: Set<string>;
  problems: Problem[];
  exactMarks: boolean;
};

/** Runs one child, without what is excluded. */
export async function attempt(
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
export type Attempt = { end: ResolverEnd; resolution: Resolution; specsLoaded: boolean };

/** What an end that belongs to a file, or to the length of the whole load, is to be told as. */
export function messageOf(end: Fault, { resolveMs }: ResolverLimits): string {
  if (end.kind === "fault") return end.message;
  return `loading took longer than ${resolveMs / 1_000} s and was stopped`;
}

export type Fault = ResolverEnd & { kind: "fault" | "overall-limit" };

/** @throws PiWorkflowsError RESOLVE_FAILED for an end that no file of the project is to blame for */
export function faultOf(end: Exclude<ResolverEnd, { kind: "done" }>): Fault {
  if (end.kind === "failed") throw new PiWorkflowsError("RESOLVE_FAILED", end.message);
  if (end.kind === "aborted") throw new PiWorkflowsError("RESOLVE_FAILED", "Loading was stopped");
  return end;
}
