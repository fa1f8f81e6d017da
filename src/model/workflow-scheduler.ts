import type { Json } from "./canonical.ts";
import type { WorkflowRunLink } from "./resource.ts";

/** A finite child run that a pass wants to exist. */
export type ChildRunRequest = {
  /** Stable: the same key finds the same run; another input under it is an error. */
  requestKey: string;
  workflow: string;
  input: Json;
};

/** A child run as its parent sees it. */
export type ChildRun = WorkflowRunLink & { output?: Json };

/**
 * The narrow interface through which resource managers start workflows (specification,
 * "Boundaries"). A host supplies one; the resource manager runtime imports no graph engine.
 */
export type WorkflowScheduler = {
  ensure(parentUid: string, request: ChildRunRequest): Promise<ChildRun>;
  /** The newest attempt under a request key of this parent; undefined where there is none. */
  get(parentUid: string, requestKey: string): Promise<ChildRun | undefined>;
  /** Asks that it be cancelled, which may take a while; undefined where there is none. */
  cancel(parentUid: string, requestKey: string): Promise<ChildRun | undefined>;
};
