import { existsSync } from "node:fs";
import { open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import type { ManagerProposal } from "../model/batch.ts";
import type { ResolvedWorkflow } from "../model/graph.ts";
import { toStoreError } from "../store/sqlite/errors.ts";
import type { Home } from "./home.ts";

/** Writes a definition's bundle, named by its digest; durable when it resolves. */
export async function keepBundle(
  home: Home,
  { digest, bundle }: Pick<ManagerProposal, "digest" | "bundle">,
): Promise<void> {
  await keep(home, home.bundle(digest), bundle);
}

/**
 * Writes beside a workflow's bundle what its code says of itself: a run whose workflow has changed
 * since goes on with both.
 */
export async function keepWorkflow(home: Home, workflow: ResolvedWorkflow): Promise<void> {
  await keep(home, home.workflow(workflow.digest), JSON.stringify(workflow));
}

/** What `keepWorkflow` wrote; undefined where it is gone or can't be read. */
export async function readWorkflow(
  home: Home,
  digest: string,
): Promise<ResolvedWorkflow | undefined> {
  try {
    return JSON.parse(await readFile(home.workflow(digest), "utf8")) as ResolvedWorkflow;
  } catch {
    return undefined;
  }
}

async function keep(home: Home, file: string, text: string): Promise<void> {
  // Named by its digest: what is there is what would be written.
  if (existsSync(file)) return;
  try {
    await write(`${file}.${process.pid}`, text);
    await rename(`${file}.${process.pid}`, file);
    await syncFolder(home.bundles);
  } catch (thrown) {
    throw toStoreError(thrown);
  }
}

async function write(file: string, text: string): Promise<void> {
  const handle = await open(file, "w", 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

// Long enough that no acceptance under way can have written it.
const STALE_BUNDLE_MS = 24 * 60 * 60 * 1000;

/**
 * Deletes what is kept of definitions that nothing names any more. `digests` are those of accepted
 * definitions and of runs that have not ended. Returns how many files.
 */
export async function removeStaleBundles(
  home: Home,
  digests: Iterable<string>,
  now: number,
): Promise<number> {
  const named = new Set(
    [...digests].flatMap((digest) =>
      [home.bundle(digest), home.workflow(digest)].map((file) => path.basename(file)),
    ),
  );
  let removed = 0;
  for (const name of await readdir(home.bundles)) {
    if (named.has(name)) continue;
    const file = path.join(home.bundles, name);
    const found = await stat(file).catch(() => undefined);
    if (!found || now - found.mtimeMs < STALE_BUNDLE_MS) continue;
    await rm(file, { force: true });
    removed += 1;
  }
  return removed;
}
