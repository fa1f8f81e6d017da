import { realpathSync } from "node:fs";
import path from "node:path";
import type { ManagerProposal, ManagerRecord } from "../model/batch.ts";
import { canonicalJson } from "../model/canonical.ts";
import { PiWorkflowsError } from "../model/errors.ts";
import type { WorkflowProposal } from "../model/graph.ts";
import { byteLength, LIMITS } from "../model/limits.ts";
import type { ResolvedManager } from "../model/manifest.ts";
import { globalWorkflowsFolder } from "../sources/project.ts";
import { verifyCommittedInputs, verifyInputs } from "../sources/digest.ts";
import type { ResourceManagerStore } from "../store/store.ts";
import { keepBundle } from "./bundles.ts";
import type { Home } from "./home.ts";
import type { Registry } from "./registry.ts";

export type DefinitionServices = {
  home: Home;
  store: ResourceManagerStore;
  registry: Registry;
  /** Where resource managers for every project live; workflows live beside it. */
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
  await verifyAndKeep(services, project, proposal);
  const { bundle: _bundle, revision: _revision, ...manager } = proposal;
  return record(services, project, manager);
}

/**
 * The part that is the same for every kind of definition: it is judged, and its bundle is durable
 * when this resolves. @throws as `acceptDefinition`
 */
export async function verifyAndKeep(
  { home, globalFolder }: Pick<DefinitionServices, "home" | "globalFolder">,
  project: string,
  proposal: ManagerProposal | WorkflowProposal,
): Promise<void> {
  refuseOversized(proposal);
  const { revision } = proposal;
  if (revision) {
    await verifyCommittedInputs(project, { ...proposal, revision }, globalFolder);
  } else {
    refuseOutside(project, proposal, globalFolder);
    verifyInputs(project, proposal, globalFolder);
  }
  await keepBundle(home, proposal);
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
export function isSame(before: Accepted, definition: object): boolean {
  const { lane: _lane, project: _project, acceptedAt: _acceptedAt, ...known } = before;
  return canonicalJson(known) === canonicalJson(definition);
}

/** What the store adds to a definition that it accepted. */
type Accepted = Pick<ManagerRecord, "lane" | "project" | "acceptedAt">;

function refuseOversized({ name, bundle }: Pick<ManagerProposal, "name" | "bundle">): void {
  if (byteLength(bundle) <= LIMITS.bundle) return;
  throw new PiWorkflowsError(
    "TOO_LARGE",
    `The bundle of ${name} has ${byteLength(bundle)} bytes; at most ${LIMITS.bundle} are allowed`,
  );
}

// The discovery rules name a path; a link there must not lead out of the folder they are about.
function refuseOutside(
  project: string,
  proposal: ManagerProposal | WorkflowProposal,
  globalFolder: string,
): void {
  if (realPath(project) !== project) {
    throw new PiWorkflowsError(
      "INVALID_DEFINITION",
      `${project} is not the canonical path of a project`,
    );
  }
  const isWorkflow = "graph" in proposal;
  const global = isWorkflow ? globalWorkflowsFolder(globalFolder) : globalFolder;
  const root = realPath(proposal.scope === "global" ? global : project);
  const file = realPath(proposal.path);
  if (proposal.scope !== "hosted" && root && file?.startsWith(root + path.sep)) return;
  throw new PiWorkflowsError(
    "DEFINITION_CHANGED",
    `The definition of ${proposal.name} at ${proposal.path} does not follow the discovery rules`,
    {
      hint: isWorkflow
        ? "Workflows are files under .pi/workflows/ of the project or ~/.pi/agent/workflows/; links may not lead out of them."
        : "Definitions are files under .pi/resource-managers/ of the project or ~/.pi/agent/resource-managers/; links may not lead out of them.",
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
