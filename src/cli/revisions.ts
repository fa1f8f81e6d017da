import path from "node:path";
import { makePlan } from "../apply/make-plan.ts";
import type { PlanSource } from "../apply/target.ts";
import type { PlanRequest } from "../diff/plan.ts";
import type { SnapshotEntry } from "../model/batch.ts";
import { PiWorkflowsError } from "../model/errors.ts";
import type { Desired } from "../model/manifest.ts";
import type { Plan } from "../model/plan.ts";
import type { Owner } from "../model/resource.ts";
import { SYNC_OWNER } from "../model/sync.ts";
import { resolve, type Resolution, type ResolveRequest } from "../runner/resolver.ts";
import { findCommittedSpecs } from "../sources/git/committed-specs.ts";
import { findRepository, git, type Repository } from "../sources/git/repository.ts";
import { displayPath, isBelow, SPECS_FOLDER } from "../sources/project.ts";
import type { Cli } from "./invocation.ts";
import type { Loaded, LoadOptions } from "./plan-specs.ts";
import { syncSetOf } from "./select-synced.ts";

/** The plan of one revision, with what was loaded for it. */
export type RevisionPlan = { plan: Plan; loaded: Loaded };

/**
 * Plans a revision against the store, or `A..B` against revision A, reading commits only: no file of
 * the work tree is looked at, and nothing is checked out.
 * @throws PiWorkflowsError USAGE, GIT_FAILED
 */
export async function planRevision(
  cli: Cli,
  revision: string,
  options: LoadOptions,
): Promise<RevisionPlan> {
  const repository = await findRepository(cli.project);
  if (!repository) throw new PiWorkflowsError("USAGE", `${cli.project} is no git repository`);
  const [before, after] = revision.includes("..") ? revision.split("..", 2) : [undefined, revision];
  const set = await syncSetOf(cli);
  const owner = set ? SYNC_OWNER : { kind: "apply" as const, name: options.set ?? "default" };
  const roots = options.file?.map((given) => displayPath(cli.project, path.resolve(given))) ??
    set?.roots ?? [SPECS_FOLDER];
  const load = (name: string, more: Pick<ResolveRequest, "workflows"> = {}) =>
    loadCommit(cli, repository, { name: name || "HEAD", roots, ...more });

  const resolution = await load(after ?? "HEAD", { workflows: "all" });
  const source = before === undefined ? await cli.reader() : asApplied(await load(before), owner);
  const covers = (file: string) => roots.some((root) => isBelow(root, file));
  const request: PlanRequest = {
    project: cli.project,
    owner,
    force: options.force === true,
    // Between two revisions nothing is deleted, so there is nothing to hold.
    prune: before === undefined ? { covers } : { covers, allowEmpty: true, guard: NEVER },
  };
  const plan = await makePlan(source, resolution, request);
  return { plan, loaded: { resolution, request } };
}

const NEVER = { count: Number.POSITIVE_INFINITY, fraction: 1 };

async function loadCommit(
  cli: Cli,
  repository: Repository,
  { name, roots, ...more }: { name: string; roots: string[] } & Pick<ResolveRequest, "workflows">,
): Promise<Resolution> {
  const revision = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`];
  const commit = await git(repository.workTree, revision).catch(() => {
    throw new PiWorkflowsError("USAGE", `git knows no commit ${name}`, {
      hint: "Give a commit, branch or tag: --rev main, or two of them: --rev main..feature.",
    });
  });
  const { gitDir } = repository;
  const found = await findCommittedSpecs({ gitDir }, commit.trim(), roots);
  const resolution = await resolve({
    project: cli.project,
    files: [...found.specs.keys()].map((file) => path.join(cli.project, file)),
    revision: { gitDir, commit: commit.trim() },
    ...more,
    signal: cli.signal,
  });
  return { ...resolution, problems: [...found.problems, ...resolution.problems] };
}

/** A store in which exactly these specs were applied. */
function asApplied({ desired }: Resolution, owner: Owner): PlanSource {
  const specs = new Map(desired.map((one) => [uidOf(one), one.spec]));
  const resources = desired.map((one): SnapshotEntry => ({
    uid: uidOf(one),
    manager: one.resourceManager,
    key: one.key,
    resourceVersion: 1,
    generation: 1,
    specHash: one.specHash,
    labels: one.labels,
    dependsOn: one.dependsOn,
    owner,
    file: one.place.file,
    prunable: one.prune !== false,
    suspended: one.suspend === true,
    deleting: false,
  }));
  return {
    snapshot: () => Promise.resolve({ revision: 0, resources }),
    specs: () => Promise.resolve(specs),
  };
}

function uidOf({ resourceManager, key }: Desired): string {
  return `${resourceManager}/${key}`;
}
