import type { ManagerProposal } from "../model/batch.ts";
import type { LoadedSpecs, Problem } from "../model/manifest.ts";
import type { LoadRequest } from "../sources/load.ts";
import type { LoadedWorkflows } from "../sources/workflow-loader.ts";

/** What the parent sends, once. */
export type ResolverRequest = LoadRequest & {
  /** Whether each file is marked before its code runs (see resolver-marks.ts). */
  exactMarks: boolean;
};

/** What the child sends besides manifests: parts of the result as they are found, then `done`. */
export type ResolverReport =
  | { kind: "managers"; items: ManagerProposal[] }
  | { kind: "problems"; items: Problem[] }
  | { kind: "files"; items: LoadedSpecs["files"] }
  | { kind: "imports"; items: Record<string, string[]> }
  /** All but workflows has been sent. */
  | { kind: "specsLoaded" }
  | ({ kind: "workflows" } & LoadedWorkflows)
  | { kind: "done" }
  /** The loader itself failed: a mistake in this product. */
  | { kind: "failed"; message: string };
