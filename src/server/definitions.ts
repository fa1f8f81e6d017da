import { existsSync, realpathSync } from "node:fs";
import { open, readdir, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import type { ManagerProposal, ManagerRecord } from "../model/batch.ts";
import { canonicalJson } from "../model/canonical.ts";
import { PiWorkflowsError } from "../model/errors.ts";
import { byteLength, LIMITS } from "../model/limits.ts";
import type { ResolvedManager } from "../model/manifest.ts";
import { verifyCommittedInputs, verifyInputs } from "../sources/digest.ts";
import type { ResourceManagerStore } from "../store/store.ts";
import type { Home } from "./home.ts";
import type { Registry } from "./registry.ts";

export type DefinitionServices = {
  home: Home;
  store: ResourceManagerStore;
  registry: Registry;
  /** Where definitions for every project live. */
  globalFolder: string;
};

/**
 * Accepts a proposed definition: it must still follow the discovery rules and be what is on disk now
 * . Its bundle is durable before the store names it, so a runner always finds what was
 * accepted. Returns the record, and whether the definition is another than before.
 * @throws DEFINITION_CHANGED, INVALID_DEFINITION, TOO_LARGE
 */
export async function acceptDefinition(
  services: DefinitionServices,
  project: string,
  proposal: ManagerProposal,
): Promise<{ record: ManagerRecord; replaced: boolean }> {
  refuseOversized(proposal);
  const { bundle: _bundle, revision, ...manager } = proposal;
  if (revision) {
    await verifyCommittedInputs(project, { ...proposal, revision }, services.globalFolder);
  } else {
    refuseOutside(project, proposal, services.globalFolder);
    verifyInputs(project, proposal, services.globalFolder);
  }
  await writeBundle(services.home, proposal);
  return record(services, project, manager);
}

/** Makes a definition the one that its lane runs; the store and the registry agree afterwards. */
export async function record(
  { store, registry }: Pick<DefinitionServices, "store" | "registry">,
  project: string,
  manager: ResolvedManager,
): Promise<{ record: ManagerRecord; replaced: boolean }> {
  const before = registry.find(project, manager.name);
  if (before && isSame(before, manager)) return { record: before, replaced: false };
  const accepted = await store.acceptManager(project, manager);
  registry.put(accepted);
  return {
    record: accepted,
    replaced: before !== undefined && before.digest !== accepted.digest,
  };
}

/** True where accepting again would write what is there, as most applies do. */
function isSame(before: ManagerRecord, manager: ResolvedManager): boolean {
  const { lane: _lane, project: _project, acceptedAt: _acceptedAt, ...known } = before;
  return canonicalJson(known) === canonicalJson(manager);
}

function refuseOversized({ name, bundle }: ManagerProposal): void {
  if (byteLength(bundle) <= LIMITS.bundle) return;
  throw new PiWorkflowsError(
    "TOO_LARGE",
    `The bundle of ${name} has ${byteLength(bundle)} bytes; at most ${LIMITS.bundle} are allowed`,
  );
}

// The discovery rules name a path; a link there must not lead out of the folder they are about.
function refuseOutside(project: string, proposal: ManagerProposal, globalFolder: string): void {
  if (realPath(project) !== project) {
    throw new PiWorkflowsError(
      "INVALID_DEFINITION",
      `${project} is not the canonical path of a project`,
    );
  }
  const root = realPath(proposal.scope === "global" ? globalFolder : project);
  const file = realPath(proposal.path);
  if (proposal.scope !== "hosted" && root && file?.startsWith(root + path.sep)) return;
  throw new PiWorkflowsError(
    "DEFINITION_CHANGED",
    `The definition of ${proposal.name} at ${proposal.path} does not follow the discovery rules`,
    {
      hint: "Definitions are files under .pi/resource-managers/ of the project or ~/.pi/agent/resource-managers/; links may not lead out of them.",
    },
  );
}

function realPath(file: string): string | undefined {
  try {
    return realpathSync(file);
  } catch {
    return undefined;
  }
}

async function writeBundle(home: Home, { digest, bundle }: ManagerProposal): Promise<void> {
  const file = home.bundle(digest);
  // Named by its digest: what is there is what would be written.
  if (existsSync(file)) return;
  const draft = `${file}.${process.pid}`;
  const handle = await open(draft, "w", 0o600);
  try {
    await handle.writeFile(bundle);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
  await syncFolder(home.bundles);
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

/** Deletes bundles that no accepted definition names any more. Returns how many. */
export async function removeStaleBundles(
  home: Home,
  records: readonly ManagerRecord[],
  now: number,
): Promise<number> {
  const named = new Set(records.map(({ digest }) => path.basename(home.bundle(digest))));
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
