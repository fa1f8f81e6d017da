import type { ChildProcess } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { LIMITS } from "../model/limits.ts";
import { isDefinition, RESOURCE_MANAGERS } from "../sources/definition-files.ts";
import { displayPath } from "../sources/project.ts";
import { ALL_TYPESCRIPT, isTypeScript } from "../sources/spec-file.ts";
import { problemOf } from "../sources/text.ts";
import {
  attempt,
  type Excluded,
  type Fault,
  faultOf,
  MAX_FAULTS,
  messageOf,
  nothingResolved,
  type Resolution,
  type ResolveRequest,
} from "./resolver-attempt.ts";
import { SOME_FILE } from "./resolver-marks.ts";
import type { ResolverLimits } from "./resolver-process.ts";
import { isOfWorkflows, workflowsAgain } from "./resolver-workflows.ts";

export {
  nothingResolved,
  type Resolution,
  type ResolvedWorkflows,
  type ResolveRequest,
} from "./resolver-attempt.ts";

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

async function resolveWithout(
  request: ResolveRequest,
  limits: ResolverLimits,
  { scratch, child }: { scratch: string; child: ChildProcess | undefined },
): Promise<Resolution> {
  const deadline = performance.now() + limits.resolveMs;
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
    const ended = faultOf(end);
    if (ended.kind === "fault" && ended.file === SOME_FILE) {
      // The same again, to learn which file it was.
      excluded.exactMarks = true;
      fault -= 1;
      continue;
    }
    if (ended.kind === "overall-limit" || fault === MAX_FAULTS) {
      return givenUp(ended, limits, excluded);
    }
    if (!exclude(ended, request, excluded)) return givenUp(ended, limits, excluded);
  }
}

/** Takes the file that a child did not get past out of the next try; false where there is none. */
function exclude(
  end: Fault & { kind: "fault" },
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
    excluded.problems.push(problemOf(displayPath(project, file), end.message));
  }
  if (guilty.length > 0) return true;
  if (end.file === undefined || !isDefinition(RESOURCE_MANAGERS, end.file)) return false;
  excluded.definitions.add(path.resolve(project, end.file));
  excluded.problems.push(problemOf(end.file, end.message));
  return true;
}

/** Nothing is returned as loaded: with one file unaccounted for, absence proves nothing. */
function givenUp(end: Fault, limits: ResolverLimits, excluded: Excluded): Resolution {
  const rest = "nothing else was loaded, because loading had to be given up";
  const problems = [
    ...excluded.problems,
    problemOf(end.file === SOME_FILE ? "." : (end.file ?? "."), messageOf(end, limits)),
    problemOf(".", rest),
  ];
  return { ...nothingResolved(), problems };
}
