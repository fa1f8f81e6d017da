import type {
  ApplyBatch,
  ApplyChange,
  BatchReceipt,
  ManagerProposal,
  ManagerRecord,
  Snapshot,
  SnapshotEntry,
} from "../../src/model/batch.ts";
import type { WorkflowProposal, WorkflowRecord } from "../../src/model/graph.ts";
import { PiWorkflowsError } from "../../src/model/errors.ts";
import { LIMITS } from "../../src/model/limits.ts";
import type { Target } from "../../src/apply/target.ts";

type Stored = SnapshotEntry & { project: string; spec: string; finalizers: string[] };

/** The simplest store that a plan can be applied to: what a real one must agree with. */
export class MemoryTarget implements Target {
  revision = 0;
  readonly commits: ApplyBatch[] = [];
  readonly accepted: string[] = [];
  /** Called before each commit, to change the store behind a plan's back. */
  beforeCommit: (batch: ApplyBatch) => void = () => undefined;
  #resources = new Map<string, Stored>();
  #uids = 0;

  async snapshot(project: string): Promise<Snapshot> {
    const resources = [...this.#resources.values()]
      .filter((stored) => stored.project === project)
      .map(({ spec: _spec, finalizers: _finalizers, project: _project, ...entry }) => entry);
    return { revision: this.revision, resources };
  }

  async specs(uids: string[]): Promise<Map<string, string>> {
    const wanted = new Set(uids);
    const found = [...this.#resources.values()].filter(({ uid }) => wanted.has(uid));
    return new Map(found.map(({ uid, spec }) => [uid, spec]));
  }

  async acceptManagers(project: string, proposals: ManagerProposal[]): Promise<ManagerRecord[]> {
    this.accepted.push(...proposals.map(({ name }) => name));
    return proposals.map(({ bundle: _bundle, ...manager }, lane) => ({
      ...manager,
      lane,
      project,
      acceptedAt: 0,
    }));
  }

  async acceptWorkflows(project: string, proposals: WorkflowProposal[]): Promise<WorkflowRecord[]> {
    this.accepted.push(...proposals.map(({ name }) => `workflow ${name}`));
    return proposals.map(({ bundle: _bundle, revision: _revision, ...workflow }, lane) => ({
      ...workflow,
      lane,
      project,
      acceptedAt: 0,
    }));
  }

  async commit(batch: ApplyBatch): Promise<BatchReceipt> {
    this.beforeCommit(batch);
    const { project, changes } = batch;
    if (changes.length > LIMITS.batch) throw new PiWorkflowsError("TOO_LARGE", "batch too large");
    for (const change of changes) this.#check(project, change);
    this.commits.push(batch);
    const items = changes.map((change) => this.#apply(project, change));
    return { revision: this.revision, items };
  }

  /** What a reconcile does: another version, the same spec. */
  writeStatus(key: string): void {
    for (const stored of this.#resources.values()) {
      if (stored.key === key) stored.resourceVersion = this.#next();
    }
  }

  change(key: string, patch: Partial<Stored>): void {
    for (const [name, stored] of this.#resources) {
      if (stored.key !== key) continue;
      this.#resources.set(name, { ...stored, ...patch, resourceVersion: this.#next() });
    }
  }

  /** Everything that is stored but versions and uids, to compare two ways to one end. */
  contents(): unknown[] {
    return [...this.#resources.entries()]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { uid: _uid, resourceVersion: _version, ...stored }]) => stored);
  }

  #check(project: string, change: ApplyChange): void {
    const stored = this.#resources.get(name(project, change));
    if (stored?.deleting) throw new PiWorkflowsError("DELETING", `${change.key} is being deleted`);
    if ((stored?.resourceVersion ?? 0) !== change.expected) {
      throw new PiWorkflowsError("STALE", `${change.key} changed`);
    }
  }

  #apply(project: string, change: ApplyChange): BatchReceipt["items"][number] {
    const { manager, key } = change;
    const before = this.#resources.get(name(project, change));
    const { uid, generation } = before ?? { uid: `uid-${(this.#uids += 1)}`, generation: 0 };
    const receipt = { manager, key, uid, generation, resourceVersion: 0, removed: false };
    if (change.kind === "prune") {
      if (before && before.finalizers.length > 0) {
        before.deleting = true;
        before.generation += 1;
      } else {
        this.#resources.delete(name(project, change));
        receipt.removed = true;
      }
      return { ...receipt, resourceVersion: this.#next() };
    }
    const { write } = change;
    const after: Stored = {
      project,
      uid,
      manager,
      key,
      resourceVersion: before?.resourceVersion ?? 0,
      generation: generation + (before?.specHash === write.specHash ? 0 : 1),
      spec: write.spec,
      specHash: write.specHash,
      labels: write.labels,
      dependsOn: write.dependsOn,
      owner: write.origin.owner,
      ...(write.origin.file === undefined ? {} : { file: write.origin.file }),
      prunable: write.prunable,
      suspended: write.suspended,
      deleting: false,
      finalizers: before?.finalizers ?? [],
    };
    if (JSON.stringify(after) !== JSON.stringify(before)) after.resourceVersion = this.#next();
    this.#resources.set(name(project, change), after);
    const { generation: current, resourceVersion } = after;
    return { ...receipt, generation: current, resourceVersion };
  }

  #next(): number {
    this.revision += 1;
    return this.revision;
  }
}

function name(project: string, { manager, key }: { manager: string; key: string }): string {
  return `${project}\n${manager}/${key}`;
}
