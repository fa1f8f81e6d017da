import { PiWorkflowsError } from "../../model/errors.ts";
import type { WorkflowRecord } from "../../model/graph.ts";

/** The accepted workflows, as the store has them, by project and name. */
export type WorkflowRegistry = {
  put(record: WorkflowRecord): void;
  find(project: string, name: string): WorkflowRecord | undefined;
  /** @throws UNKNOWN_WORKFLOW */
  get(project: string, name: string): WorkflowRecord;
  all(): WorkflowRecord[];
};

export function createWorkflowRegistry(records: readonly WorkflowRecord[]): WorkflowRegistry {
  const byIdentity = new Map<string, WorkflowRecord>();
  const identity = (project: string, name: string): string => `${name}\0${project}`;
  const registry: WorkflowRegistry = {
    put: (record) => void byIdentity.set(identity(record.project, record.name), record),
    find: (project, name) => byIdentity.get(identity(project, name)),
    get(project, name) {
      const record = registry.find(project, name);
      if (record) return record;
      throw unknownWorkflow(project, name);
    },
    all: () => [...byIdentity.values()],
  };
  for (const record of records) registry.put(record);
  return registry;
}

/** The error of a workflow that nobody has accepted, which says how one is. */
export function unknownWorkflow(project: string, name: string): PiWorkflowsError {
  return new PiWorkflowsError(
    "UNKNOWN_WORKFLOW",
    `No workflow ${name} was accepted for ${project}`,
    {
      hint: `Write it to .pi/workflows/${name}.workflow.ts; \`pi-workflows run start ${name}\`, \`apply\` and sync accept it from there.`,
    },
  );
}
