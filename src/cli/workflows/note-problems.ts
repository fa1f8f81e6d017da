import type { Problem } from "../../model/manifest.ts";
import type { Cli } from "../invocation.ts";
import { describeProblem } from "../report-error.ts";

/** Tells people which workflows can't be used, where that kept nothing else from being done. */
export function noteWorkflowProblems({ output }: Cli, problems: readonly Problem[]): void {
  if (problems.length === 0) return;
  for (const problem of problems) output.note(describeProblem(problem, output.colors));
  output.note(
    "Workflows with problems can't be started; specs are not affected. " +
      "See `pi-workflows workflow validate`.",
  );
}
