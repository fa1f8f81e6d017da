import type {
  ApplyBatch,
  BatchReceipt,
  ManagerProposal,
  ManagerRecord,
  Snapshot,
} from "../model/batch.ts";
import type { WorkflowProposal, WorkflowRecord } from "../model/graph.ts";

/** What a plan is made from; the query-only reader is one, and so is every Target. */
export type PlanSource = {
  snapshot(project: string): Promise<Snapshot>;
  /** Canonical specs of some uids. */
  specs(uids: string[]): Promise<Map<string, string>>;
};

/** Where a plan is committed: in process in the server, over the socket in clients. */
export type Target = PlanSource & {
  /** @throws DEFINITION_CHANGED, INVALID_DEFINITION */
  acceptManagers(project: string, proposals: ManagerProposal[]): Promise<ManagerRecord[]>;
  /** @throws DEFINITION_CHANGED, INVALID_DEFINITION */
  acceptWorkflows(project: string, proposals: WorkflowProposal[]): Promise<WorkflowRecord[]>;
  /** Whole or not at all. @throws STALE when a resource is not as the plan saw it. */
  commit(batch: ApplyBatch): Promise<BatchReceipt>;
};
