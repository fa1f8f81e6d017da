import type { WorkflowProposal, WorkflowRecord } from "../../model/graph.ts";
import type { RunStore } from "../../store/runs.ts";
import { keepWorkflow } from "../bundles.ts";
import { isSame, verifyAndKeep, type DefinitionServices } from "../definitions.ts";
import type { WorkflowRegistry } from "./registry.ts";

/** What accepting workflows needs. */
export type AcceptServices = Pick<DefinitionServices, "home" | "globalFolder"> & {
  store: RunStore;
  workflows: WorkflowRegistry;
};

/**
 * Accepts a proposed workflow by the rules of every definition: it is what is on disk now, and
 * its bundle is durable before the store names it.
 * @throws DEFINITION_CHANGED, INVALID_DEFINITION, TOO_LARGE
 */
export async function acceptWorkflow(
  services: AcceptServices,
  project: string,
  proposal: WorkflowProposal,
): Promise<WorkflowRecord> {
  const { store, workflows, home } = services;
  await verifyAndKeep(services, project, proposal);
  const { bundle: _bundle, revision: _revision, ...workflow } = proposal;
  await keepWorkflow(home, workflow);
  const before = workflows.find(project, workflow.name);
  if (before && isSame(before, workflow)) return before;
  const record = await store.acceptWorkflow(project, workflow);
  workflows.put(record);
  return record;
}
