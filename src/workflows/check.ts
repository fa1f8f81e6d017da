import type { Workflow } from "./define.ts";

/** One thing wrong with a definition. */
export type WorkflowProblem = {
  /** Path in the definition: `edges.good.no`, `includes.review.nodes.tests.timeout`. */
  path: string;
  /** What is wrong, and how to mend it. */
  message: string;
  /** The value that is at fault, where a constructor made it: `declarationSite` tells its place. */
  declared?: unknown;
};

/** All that is wrong with a definition; nothing where it can be run. */
export function checkWorkflow(_workflow: Workflow): WorkflowProblem[] {
  return [];
}
