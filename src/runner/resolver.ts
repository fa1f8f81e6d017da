import type { ManagerProposal } from "../model/batch.ts";
import type { LoadedSpecs } from "../model/manifest.ts";

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
  signal?: AbortSignal;
};

/** What the files mean. `managers` holds the definitions that the specs use, with their bundles. */
export type Resolution = Omit<LoadedSpecs, "managers"> & { managers: ManagerProposal[] };

/**
 * Loads spec files and definitions in a child process of its own with limits of time and memory:
 * the only place where project code is evaluated outside a runner. All problems are returned at
 * once; a child that hangs, dies or runs out of memory becomes a problem at the file it was in.
 * @throws PiWorkflowsError RESOLVE_FAILED where the child can't be started at all.
 */
export declare function resolve(request: ResolveRequest): Promise<Resolution>;
