import type { ManagerRecord } from "../model/batch.ts";
import { PiWorkflowsError } from "../model/errors.ts";

/** The accepted definitions, as the store has them, by project and name. */
export type Registry = {
  put(record: ManagerRecord): void;
  find(project: string, name: string): ManagerRecord | undefined;
  /** @throws UNKNOWN_MANAGER */
  get(project: string, name: string): ManagerRecord;
  all(): ManagerRecord[];
};

export function createRegistry(records: readonly ManagerRecord[]): Registry {
  const byIdentity = new Map<string, ManagerRecord>();
  const identity = (project: string, name: string): string => `${name}\0${project}`;
  const registry: Registry = {
    put: (record) => void byIdentity.set(identity(record.project, record.name), record),
    find: (project, name) => byIdentity.get(identity(project, name)),
    get(project, name) {
      const record = registry.find(project, name);
      if (record) return record;
      throw new PiWorkflowsError(
        "UNKNOWN_MANAGER",
        `No resource manager ${name} was accepted for ${project}`,
      );
    },
    all: () => [...byIdentity.values()],
  };
  for (const record of records) registry.put(record);
  return registry;
}
