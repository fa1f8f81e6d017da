import type { ManagerProposal } from "../model/batch.ts";
import type { Desired, LoadedSpecs, Problem } from "../model/manifest.ts";
import type { LoadRequest } from "../sources/load.ts";

/** What the parent sends, once. */
export type ResolverRequest = LoadRequest;

/** What the child sends: parts of the result as they are found, then `done`. */
export type ResolverReport =
  | { kind: "desired"; items: Desired[] }
  | { kind: "managers"; items: ManagerProposal[] }
  | { kind: "problems"; items: Problem[] }
  | { kind: "files"; items: LoadedSpecs["files"] }
  | { kind: "done" }
  /** The loader itself failed: a mistake in this product. */
  | { kind: "failed"; message: string };
