import type { SessionEntry } from "./pi.ts";

/** The type of the entries in which a session remembers; they are never shown. */
export const MEMORY = "pi-workflows-memory";

/** A resource that this session applied. */
export type Applied = {
  uid: string;
  project: string;
  resourceManager: string;
  key: string;
  generation: number;
};

export type NoticeState = "ready" | "blocked" | "deleted";

/** What a session's file says, line by line. */
export type MemoryEntry =
  | { kind: "applied"; resources: Applied[] }
  | { kind: "told"; notices: Told[] };

/** What was said of one resource. */
export type Told = { uid: string; generation: number; state: NoticeState };

/** A resource that the session applied, and the last that it said of it. */
export type Remembered = Applied & { told?: { generation: number; state: NoticeState } };

/**
 * What a session did and said, from the entries of its file: the server knows how things are, the
 * session knows what it has told, so that nothing is told twice and nothing is lost while it is
 * closed.
 */
export class Memory {
  readonly #resources = new Map<string, Remembered>();
  readonly #save: (entry: MemoryEntry) => void;
  /** Called when the session has applied something: it may be ready before that is remembered. */
  onApplied: () => void = () => undefined;

  constructor(entries: readonly SessionEntry[], save: (entry: MemoryEntry) => void) {
    this.#save = save;
    for (const { customType, data } of entries) {
      if (customType === MEMORY && isEntry(data)) this.#take(data);
    }
  }

  /** Resources whose end was not yet told. */
  resources(): Remembered[] {
    return [...this.#resources.values()];
  }

  applied(resources: Applied[]): void {
    if (resources.length === 0) return;
    this.#add({ kind: "applied", resources });
    this.onApplied();
  }

  told(notices: Told[]): void {
    this.#add({ kind: "told", notices });
  }

  #add(entry: MemoryEntry): void {
    this.#take(entry);
    this.#save(entry);
  }

  #take(entry: MemoryEntry): void {
    if (entry.kind === "applied") {
      for (const resource of entry.resources) this.#resources.set(resource.uid, resource);
      return;
    }
    for (const { uid, generation, state } of entry.notices) {
      const resource = this.#resources.get(uid);
      if (state === "deleted") this.#resources.delete(uid);
      else if (resource) this.#resources.set(uid, { ...resource, told: { generation, state } });
    }
  }
}

function isEntry(data: unknown): data is MemoryEntry {
  if (typeof data !== "object" || data === null || !("kind" in data)) return false;
  if (data.kind === "applied") return "resources" in data && Array.isArray(data.resources);
  return data.kind === "told" && "notices" in data && Array.isArray(data.notices);
}
