import path from "node:path";
import { SYNC_OWNER, type SyncSet } from "../model/sync.ts";
import type { Cli } from "./invocation.ts";
import { selectFiles, type LoadOptions, type Selected } from "./plan-specs.ts";

/** The sync set of this project; undefined where sync is not enabled. */
export async function syncSetOf(cli: Cli): Promise<SyncSet | undefined> {
  const [stored] = await (await cli.reader()).syncSets(cli.project);
  return stored?.set;
}

/**
 * Finds the files that the flags name, or where they name none and sync is enabled, those that sync
 * reads, with what sync would ask of their plan.
 * @throws PiWorkflowsError USAGE
 */
export async function selectWorkTree(cli: Cli, options: LoadOptions): Promise<Selected> {
  const set = options.file === undefined ? await syncSetOf(cli) : undefined;
  if (!set) return selectFiles(cli, options);
  const file = set.roots.map((root) => path.join(cli.project, root));
  const synced = { ...options, file, recursive: true, prune: set.prune };
  const { specs, problems, request } = await selectFiles(cli, synced);
  return { specs, problems, request: { ...request, owner: SYNC_OWNER } };
}
