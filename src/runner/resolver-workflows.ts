import path from "node:path";
import type { Problem } from "../model/manifest.ts";
import { isDefinition, WORKFLOWS } from "../sources/definition-files.ts";
import { problemOf } from "../sources/text.ts";
import {
  type Attempt,
  attempt,
  faultOf,
  MAX_FAULTS,
  messageOf,
  type ResolvedWorkflows,
  type ResolveRequest,
} from "./resolver-attempt.ts";
import type { ResolverLimits } from "./resolver-process.ts";

/** Whether a child was at workflows when it ended, so that the specs need not be loaded again. */
export function isOfWorkflows({ end, specsLoaded }: Attempt): boolean {
  if (!specsLoaded || !(end.kind === "fault" || end.kind === "overall-limit")) return false;
  if (end.kind === "fault" && end.spoilt) return false;
  return end.file === undefined || isDefinition(WORKFLOWS, end.file);
}

/** Loads workflows again, without those that a child did not get past. */
export async function workflowsAgain(
  first: Attempt,
  request: ResolveRequest,
  { limits, ...state }: { limits: ResolverLimits; scratch: string; deadline: number },
): Promise<ResolvedWorkflows> {
  const only = { ...request, files: [], inline: [], managers: [] };
  const problems: Problem[] = [];
  const excluded = { files: new Set<string>(), definitions: new Set<string>(), problems };
  let { end, resolution } = first;
  for (let faults = 1; end.kind !== "done"; faults += 1) {
    const fault = faultOf(end);
    problems.push(problemOf(fault.file ?? ".", messageOf(fault, limits)));
    if (fault.kind === "overall-limit" || faults > MAX_FAULTS || fault.file === undefined) {
      const rest = "no other workflow was loaded, because loading had to be given up";
      problems.push(problemOf(".", rest));
      break;
    }
    excluded.definitions.add(path.resolve(request.project, fault.file));
    const again = { ...state, child: undefined, excluded: { ...excluded, exactMarks: true } };
    ({ end, resolution } = await attempt(only, limits, again));
  }
  const { workflows, workflowFiles, workflowProblems } = resolution;
  return { workflows, workflowFiles, workflowProblems: [...problems, ...workflowProblems] };
}
