import type { ResourceRef } from "../model/resource.ts";
import { noticesDue, noticeText, type Notice } from "./notices.ts";
import { Soon } from "./soon.ts";
import type { Session } from "./session.ts";
import type { Stood } from "./standing.ts";

// What becomes ready within so long is told at once.
const GATHER_MS = 1_500;

export type TellerOptions = {
  session: Session;
  /** Puts a notice into the session. */
  tell: (text: string) => void;
  /** Whether one may be put there now; else it waits. */
  mayTell: () => boolean;
  onTrouble: (thrown: unknown) => void;
};

/** Tells a session what became of the resources that it applied: each thing once, several together. */
export class Teller {
  readonly #options: TellerOptions;
  readonly #soon = new Soon(GATHER_MS, () => this.#tell());
  #stood: ReadonlyMap<string, Stood> = new Map();

  constructor(options: TellerOptions) {
    this.#options = options;
  }

  /** How all resources of the project stand now. */
  see(stood: ReadonlyMap<string, Stood>): void {
    this.#stood = stood;
    if (!this.#options.session.settings.notices || this.#due().length === 0) return;
    this.#soon.ask();
  }

  /** What was seen may be outdated. */
  stop(): void {
    this.#soon.cancel();
  }

  #due(): Notice[] {
    const { memory, project } = this.#options.session;
    return noticesDue(memory.resources(), this.#stood, project);
  }

  async #tell(): Promise<void> {
    const { session, tell, mayTell, onTrouble } = this.#options;
    try {
      const due = await this.#sure(this.#due());
      if (due.length === 0 || session.link.closed.aborted) return;
      if (!mayTell()) return this.#soon.ask();
      tell(noticeText(due));
      session.memory.told(due.map(({ uid, generation, state }) => ({ uid, generation, state })));
    } catch (thrown) {
      if (!session.link.closed.aborted) onTrouble(thrown);
    }
  }

  /** A resource that was just made may not have been seen yet, and is not deleted for that. */
  async #sure(due: readonly Notice[]): Promise<Notice[]> {
    const sure: Notice[] = [];
    for (const notice of due) {
      if (notice.state !== "deleted" || (await this.#isGone(notice))) sure.push(notice);
    }
    return sure;
  }

  async #isGone({ uid }: Notice): Promise<boolean> {
    const { memory, link } = this.#options.session;
    const applied = memory.resources().find((resource) => resource.uid === uid);
    if (!applied) return false;
    const { project, resourceManager, key } = applied;
    const ref: ResourceRef = { project, resourceManager, key };
    const stored = await link.ask((client) => client.get(ref), false);
    return stored?.resource.metadata.uid !== uid;
  }
}
