import { redact } from "../../model/redact.ts";
import type { SyncReport } from "../../model/sync.ts";
import type { ResourceManagerStore, SyncRecord } from "../../store/store.ts";
import type { Changes } from "../changes.ts";

export type RecorderServices = {
  store: Pick<ResourceManagerStore, "recordSync">;
  changes: Changes;
  onChange: () => void;
};

/** Keeps the latest report of one set, here and in the store. */
export class Recorder {
  readonly #services: RecorderServices;
  readonly #project: string;
  #report: SyncReport;
  /** False once it is known that no resource is marked as not synced. */
  #mayBeMarked = true;

  constructor(services: RecorderServices, project: string, report: SyncReport) {
    this.#services = services;
    this.#project = project;
    this.#report = report;
  }

  get report(): SyncReport {
    return this.#report;
  }

  /** Records what came out, where it is news. */
  async put(record: SyncRecord): Promise<void> {
    const { store, changes, onChange } = this.#services;
    const { notSynced, ...rest } = record;
    // What git or a spec file says may hold credentials.
    const report = redact(record.report) as SyncReport;
    const isNews = JSON.stringify(report) !== JSON.stringify(this.#report);
    if (!isNews && notSynced === undefined) return;
    // Looking for marks to lift reads every resource of the project.
    const marks = notSynced && (notSynced.length > 0 || this.#mayBeMarked) ? { notSynced } : {};
    const marked = await store.recordSync(this.#project, { ...rest, ...marks, report });
    this.#report = report;
    if (notSynced) this.#mayBeMarked = notSynced.length > 0;
    changes.touch(marked);
    onChange();
  }
}
