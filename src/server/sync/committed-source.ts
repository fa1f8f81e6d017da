import { PiWorkflowsError, toPiWorkflowsError } from "../../model/errors.ts";
import type { SyncRevision, SyncSet } from "../../model/sync.ts";
import { watchBranch, type BranchWatch } from "../../sources/git/branch-watch.ts";
import { findCommittedSpecs } from "../../sources/git/committed-specs.ts";
import { changedFiles, readCommit, type Commit } from "../../sources/git/commits.ts";
import { openObjects, type ObjectReader } from "../../sources/git/objects.ts";
import { findRepository, type Repository } from "../../sources/git/repository.ts";
import { newestCommits } from "./file-commits.ts";
import type { Applied, FileOrigin, Listing, Look, Source } from "./source.ts";

/** What is open while the repository can be read. */
type Open = { repository: Repository; objects: ObjectReader; watch: BranchWatch };

/** The tree of a branch's newest commit, read from git alone: no file of the work tree counts. */
export class CommittedSource implements Source {
  readonly #set: SyncSet;
  readonly #branch: string;
  readonly #onHint: () => void;
  #open: Open | undefined;
  #looking: Promise<unknown> = Promise.resolve();

  constructor(set: SyncSet, branch: string, onHint: () => void) {
    this.#set = set;
    this.#branch = branch;
    this.#onHint = onHint;
  }

  look(): Promise<Look> {
    // One after another, so that none opens or closes what another one uses.
    const look = this.#looking.then(() => this.#lookNow());
    this.#looking = look;
    return look;
  }

  async #lookNow(): Promise<Look> {
    try {
      let commit = await this.#newest();
      if (!commit) {
        // The repository may have been moved or replaced under the process that reads it.
        await this.close();
        commit = await this.#newest();
      }
      if (commit) return { revision: revisionOf(commit) };
      return { trouble: branchMissing(this.#set, this.#branch) };
    } catch (thrown) {
      await this.close();
      const { code, message } = toPiWorkflowsError(thrown);
      const reason = code === "CONFLICT" ? "RepositoryChanged" : "RepositoryUnreadable";
      return { trouble: { reason, message } };
    }
  }

  async list(revision: SyncRevision, since: SyncRevision | undefined): Promise<Listing> {
    const repository = this.#repository();
    const [found, changed] = await Promise.all([
      findCommittedSpecs(repository, revision.id, this.#set.roots),
      changedSince(repository, since, revision),
    ]);
    return { ...found, absentRoots: [], changed, isOfDisk: false };
  }

  reading({ id }: SyncRevision): ReturnType<Source["reading"]> {
    return { revision: { gitDir: this.#repository().gitDir, commit: id } };
  }

  /** A file's newest commit since the revision before; what is not touched since has the newest. */
  async originsOf(
    files: readonly string[],
    { revision, listing, since }: Applied,
  ): Promise<(file: string | undefined) => FileOrigin> {
    const commits = since?.kind === "commit" ? `${since.id}..${revision.id}` : undefined;
    const touched =
      commits === undefined
        ? new Map<string, SyncRevision>()
        : await newestCommits(this.#repository(), files, { commits, what: "changed" });
    return (file) => {
      const blob = file === undefined ? undefined : listing.specs.get(file);
      const { id, author, committedAt } = touched.get(file ?? "") ?? revision;
      return {
        ...(blob === undefined ? {} : { blob }),
        commit: id,
        ...(author === undefined ? {} : { author }),
        ...(committedAt === undefined ? {} : { committedAt }),
        dirty: false,
      };
    };
  }

  include(): void {
    // What specs import is part of the commit, whose changes are told whole.
  }

  removals(files: readonly string[], { id }: SyncRevision): Promise<Map<string, SyncRevision>> {
    return newestCommits(this.#repository(), files, { commits: id, what: "removed" });
  }

  get deaf(): string | undefined {
    return this.#open?.watch.problem;
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    open?.watch.close();
    await open?.objects.close();
  }

  async #newest(): Promise<Commit | undefined> {
    const { objects } = await this.#ensureOpen();
    return readCommit(objects, `refs/heads/${this.#branch}`);
  }

  async #ensureOpen(): Promise<Open> {
    if (this.#open) return this.#open;
    const repository = await findRepository(this.#set.project);
    checkIdentity(this.#set, repository);
    this.#open = {
      repository,
      objects: openObjects(repository),
      watch: watchBranch(repository, this.#branch, this.#onHint),
    };
    return this.#open;
  }

  #repository(): Repository {
    if (this.#open) return this.#open.repository;
    throw new PiWorkflowsError("GIT_FAILED", `the repository of ${this.#set.project} is not open`);
  }
}

function revisionOf({ oid, tree, author, at, subject }: Commit): SyncRevision {
  return { id: oid, kind: "commit", tree, author, committedAt: at, subject };
}

/** @throws GIT_FAILED, CONFLICT where another repository took the place of the one enabled */
function checkIdentity(
  set: SyncSet,
  repository: Repository | undefined,
): asserts repository is Repository {
  if (!repository) {
    throw new PiWorkflowsError("GIT_FAILED", `${set.project} is no longer a git work tree`);
  }
  if (repository.workTree === set.project && repository.commonDir === set.commonDir) return;
  throw new PiWorkflowsError(
    "CONFLICT",
    `${set.project} belongs to the repository ${repository.commonDir} now, and sync was enabled ` +
      `for ${set.commonDir ?? "a folder without git"}; enable sync again to consent to it`,
  );
}

function branchMissing(
  { project }: SyncSet,
  branch: string,
): Extract<Look, { trouble: unknown }>["trouble"] {
  return {
    reason: "BranchMissing",
    message:
      `the branch ${branch} of ${project} does not exist or has no commit; nothing is applied or ` +
      `pruned until it has one, or sync is enabled for another branch`,
  };
}

/** Undefined where the commit compared with is not there any more. */
async function changedSince(
  repository: Repository,
  since: SyncRevision | undefined,
  revision: SyncRevision,
): Promise<ReadonlySet<string> | undefined> {
  if (since?.kind !== "commit") return undefined;
  if (since.tree === revision.tree) return new Set();
  try {
    const changes = await changedFiles(repository, [since.id, revision.id], []);
    return new Set(
      changes.flatMap(({ path, from }) => (from === undefined ? [path] : [path, from])),
    );
  } catch {
    return undefined;
  }
}
