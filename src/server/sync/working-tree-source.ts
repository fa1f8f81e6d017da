import { existsSync } from "node:fs";
import type { SyncRevision, SyncSet } from "../../model/sync.ts";
import { findRepository, type Repository } from "../../sources/git/repository.ts";
import { WORKFLOWS_FOLDER } from "../../sources/project.ts";
import type { Scan } from "../../sources/working-tree/scan.ts";
import { openWorkTree, type Hold, type WorkTree } from "../../sources/working-tree/work-tree.ts";
import { PiWorkflowsError, toPiWorkflowsError } from "../../model/errors.ts";
import { readCheckout, type Checkout } from "./checkout.ts";
import type { Listing, Look, Source, SourceServices } from "./source.ts";

// Long enough for a save and for a checkout of thousands of files; a rebase that waits for a person
// takes longer, and is reported.
const SETTLE_MS = 3_000;

type Open = { tree: WorkTree; repository: Repository | undefined };

/** The files of the work tree as they are saved, once they have settled. */
export class WorkingTreeSource implements Source {
  readonly #set: SyncSet;
  readonly #services: SourceServices;
  #open: Promise<Open> | undefined;
  #opened: Open | undefined;
  #scan: Scan | undefined;
  #checkout: Checkout | undefined;

  constructor(set: SyncSet, services: SourceServices) {
    this.#set = set;
    this.#services = services;
  }

  async look(isFresh: boolean): Promise<Look> {
    const { project } = this.#set;
    if (!existsSync(project)) return trouble("FolderMissing", `${project} is not there`);
    try {
      const { tree } = await this.#ensureOpen();
      if (isFresh) tree.lookAgain();
      const scan = await tree.settled(SETTLE_MS);
      if (!scan) return unsettled(project, tree.hold);
      this.#scan = scan;
      return { revision: { id: scan.id, kind: "scan" } };
    } catch (thrown) {
      return trouble("FolderUnreadable", toPiWorkflowsError(thrown).message);
    }
  }

  async list(revision: SyncRevision, since: SyncRevision | undefined): Promise<Listing> {
    const { tree, repository } = await this.#ensureOpen();
    const scan = this.#scan;
    if (scan?.id !== revision.id) {
      throw new PiWorkflowsError("STALE", `the files of ${this.#set.project} changed meanwhile`);
    }
    this.#checkout = repository && (await readCheckout(repository, this.#set.roots));
    return {
      specs: new Map(scan.specs),
      problems: scan.problems,
      hasWorkflows: hasWorkflows(scan),
      absentRoots: scan.absentRoots,
      changed: since?.kind === "scan" ? tree.changedSince(since.id) : undefined,
      isOfDisk: true,
    };
  }

  reading(): ReturnType<Source["reading"]> {
    return {};
  }

  include(modules: ReadonlyMap<string, string>): void {
    this.#opened?.tree.include(modules);
  }

  originsOf(): ReturnType<Source["originsOf"]> {
    const checkout = this.#checkout;
    return Promise.resolve((file) => checkout?.originOf(file) ?? {});
  }

  removals(): Promise<Map<string, SyncRevision>> {
    return Promise.resolve(new Map());
  }

  get deaf(): string | undefined {
    return this.#opened?.tree.deaf;
  }

  async close(): Promise<void> {
    const open = await this.#open;
    this.#open = undefined;
    await open?.tree.close();
  }

  #ensureOpen(): Promise<Open> {
    this.#open ??= this.#openTree().catch((thrown: unknown) => {
      this.#open = undefined;
      throw thrown;
    });
    return this.#open;
  }

  async #openTree(): Promise<Open> {
    const { project, roots, commonDir } = this.#set;
    const { clock, globalFolder, onHint } = this.#services;
    const repository = commonDir === undefined ? undefined : await findRepository(project);
    const gitDir = repository?.gitDir;
    const tree = openWorkTree({ project, roots, globalFolder, gitDir, clock }, onHint);
    this.#opened = { tree, repository };
    return this.#opened;
  }
}

function hasWorkflows({ others }: Scan): boolean {
  for (const file of others.keys()) if (file.startsWith(`${WORKFLOWS_FOLDER}/`)) return true;
  return false;
}

function trouble(reason: string, message: string): Look {
  return { trouble: { reason, message } };
}

function unsettled(project: string, hold: Hold | undefined): Look {
  if (!hold) return trouble("Unsettled", `the files of ${project} do not stop changing`);
  const what = hold.kind === "lock" ? "a command of git" : `a ${hold.kind}`;
  return trouble(
    "GitOperationUnderWay",
    `${what} is under way in ${project} (${hold.file}); its files are taken when it is over`,
  );
}
