import type { ManagerProposal } from "../model/batch.ts";
import { PiWorkflowsError } from "../model/errors.ts";
import type { Cli } from "./invocation.ts";

/**
 * Every definition of the project and of the user.
 * @throws PiWorkflowsError INVALID_DEFINITION with the problems; UNKNOWN_MANAGER where there is none.
 */
export async function loadDefinitions(cli: Cli): Promise<ManagerProposal[]> {
  const { resolve } = await import("../runner/resolver.ts");
  const { managers, problems } = await resolve({
    project: cli.project,
    files: [],
    managers: "all",
    signal: cli.signal,
  });
  if (problems.length > 0) {
    throw new PiWorkflowsError(
      "INVALID_DEFINITION",
      "a definition has problems; nothing was written",
      {
        details: { problems },
      },
    );
  }
  if (managers.length === 0) {
    throw new PiWorkflowsError(
      "UNKNOWN_MANAGER",
      `no resource manager is defined for ${cli.project}`,
    );
  }
  return managers.sort((a, b) => (a.name < b.name ? -1 : 1));
}
