import { hash } from "node:crypto";
import { readFileSync, realpathSync } from "node:fs";
import type { ManagerProposal } from "../model/batch.ts";
import type { ResolvedManager } from "../model/manifest.ts";
import { PiWorkflowsError } from "../model/errors.ts";
import { findDefinitions } from "./definition-files.ts";

/** The digest of a definition: over its bundle and over each local file that went in. */
export function digestOf(bundle: string, inputs: ResolvedManager["inputs"]): string {
  const files = inputs
    .map((input) => [input.path, input.sha256] as const)
    .sort(([left], [right]) => (left < right ? -1 : 1));
  return hash("sha256", JSON.stringify([files, hash("sha256", bundle, "hex")]), "hex");
}

/**
 * Makes sure that a proposed definition is still what the disk says: its path is the one
 * that the discovery rules give its name, every file that went in has the bytes that were bundled,
 * and the digest is theirs.
 * @throws PiWorkflowsError DEFINITION_CHANGED
 */
export function verifyInputs(
  project: string,
  proposal: ManagerProposal,
  globalFolder: string,
): void {
  const found = findDefinitions(project, globalFolder).byName.get(proposal.name);
  if (found?.path !== proposal.path || found.scope !== proposal.scope) {
    throw changed(proposal, `is not where ${proposal.path} was`);
  }
  const file = realpathSync(proposal.path);
  if (!proposal.inputs.some((input) => input.path === file)) {
    throw changed(proposal, `does not list ${proposal.path} among its files`);
  }
  for (const input of proposal.inputs) {
    if (fileHash(input.path) !== input.sha256) throw changed(proposal, `${input.path} differs`);
  }
  if (digestOf(proposal.bundle, proposal.inputs) !== proposal.digest) {
    throw changed(proposal, "has a digest that is not of its bundle and files");
  }
}

function fileHash(file: string): string | undefined {
  try {
    return hash("sha256", readFileSync(file), "hex");
  } catch {
    // Gone or unreadable: not the file that was bundled, whatever the reason.
    return undefined;
  }
}

function changed(proposal: ManagerProposal, what: string): PiWorkflowsError {
  return new PiWorkflowsError(
    "DEFINITION_CHANGED",
    `The definition of ${proposal.name} changed since it was read: ${what}`,
  );
}
