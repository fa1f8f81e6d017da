import { LIMITS } from "../../src/model/limits.ts";
import { formatProblem } from "../../src/model/manifest.ts";
import { type Resolution, resolve, type ResolveRequest } from "../../src/runner/resolver.ts";
import type { ResolverLimits } from "../../src/runner/resolver-process.ts";
import { ensureBuilt } from "../support/dist.ts";
import type { TempProject } from "../sources/temp-project.ts";

ensureBuilt(
  "src/runner/resolver-child.ts",
  "src/resource-managers/index.ts",
  "src/workflows/index.ts",
);

/** Loads spec files of a project in a real child; nobody's global definitions are seen. */
export function loadSpecs(
  project: TempProject,
  files: string[],
  request: Partial<ResolveRequest> = {},
  limits: Partial<ResolverLimits> = {},
): Promise<Resolution> {
  return resolve(
    {
      project: project.root,
      files: files.map((file) => project.path(file)),
      globalFolder: project.path("global"),
      ...request,
    },
    { ...LIMITS, ...limits },
  );
}

/** Problems as people see them, without frames. */
export function lines({ problems }: Resolution): string[] {
  return problems.map(formatProblem).sort();
}

export function keys({ desired }: Resolution): string[] {
  return desired.map(({ resourceManager, key }) => `${resourceManager} ${key}`).sort();
}
