import { describeRef } from "../model/resource.ts";
import { printable } from "../model/text.ts";
import type { Client, WatchItem } from "../server/protocol.ts";
import type { ResourceSummary } from "../model/resource.ts";
import { describeError } from "./errors.ts";
import { follow } from "./follow.ts";
import { layOut, PLAIN } from "./layout.ts";
import { paintOf } from "./output.ts";
import type { Ui } from "./pi.ts";
import { Teller } from "./teller.ts";
import { isHanging } from "./link.ts";
import { isUnreachable } from "../server/client.ts";
import { Soon } from "./soon.ts";
import type { Session } from "./session.ts";
import { notReady, standingOf, statusLine, type Stood } from "./standing.ts";
import type { View } from "./view.ts";

const KEY = "pi-workflows";
// A busy server changes many at once; one look shows them all.
const SETTLE_MS = 60;
/** Lines of the widget; Pi cuts more than ten. */
const WIDGET_ROWS = 5;
/** As many as the server tells at once. */
const QUEUE_ROWS = 1_000;

export type PresenceOptions = {
  session: Session;
  ui: Ui;
  tui: boolean;
  /** Puts a notice into the session. */
  tell: (text: string) => void;
  /** Whether a notice may be put there now. */
  mayTell: () => boolean;
  onTrouble: (thrown: unknown) => void;
};

/** The status line, the widget and the notices of one session, live while it lasts. */
export class Presence {
  readonly #options: PresenceOptions;
  readonly #soon = new Soon(SETTLE_MS, () => this.#look());
  readonly #teller: Teller;
  readonly #resources = new Map<string, ResourceSummary>();
  #listed = false;
  #looking = false;
  #again = false;
  #shown: { status?: string | undefined; widget?: string } = {};

  constructor(options: PresenceOptions) {
    this.#options = options;
    this.#teller = new Teller(options);
  }

  /** Follows the server until the session ends. */
  async run(): Promise<void> {
    const { session, onTrouble } = this.#options;
    const { link, project } = session;
    link.closed.addEventListener("abort", () => this.#stop());
    session.memory.onApplied = () => {
      if (this.#listed && !link.closed.aborted) this.#soon.ask();
    };
    await follow<WatchItem>({
      open: (signal) => {
        this.#resources.clear();
        this.#listed = false;
        return link.client().watch({ project }, signal);
      },
      onItem: (item) => this.#take(item),
      onLost: () => this.#lost(),
      onTrouble,
      signal: link.closed,
    });
  }

  #take(item: WatchItem): void {
    if (item.kind === "listed") this.#listed = true;
    else if (item.kind === "removed") this.#resources.delete(item.resource.metadata.uid);
    else this.#resources.set(item.resource.metadata.uid, item.resource);
    if (this.#listed) this.#soon.ask();
  }

  #stop(): void {
    this.#soon.cancel();
    this.#teller.stop();
  }

  #lost(): void {
    this.#stop();
    if (this.#shown.status !== undefined) this.#setStatus("pi-workflows: no server answers");
    this.#setWidget(undefined);
  }

  /** Asks what is queued, which a resource does not say, and shows how all stand. */
  async #look(): Promise<void> {
    const { session, onTrouble } = this.#options;
    if (this.#looking) {
      this.#again = true;
      return;
    }
    this.#looking = true;
    try {
      do {
        this.#again = false;
        const isQueued = await session.link.ask(
          (client) => queueOf(client, session.project),
          false,
        );
        if (session.link.closed.aborted || !this.#listed) return;
        this.#show(isQueued);
      } while (this.#again);
    } catch (thrown) {
      // Where the server is gone, the stream ends too and is opened again.
      const isGone = isUnreachable(thrown) && !isHanging(thrown);
      if (!session.link.closed.aborted && !isGone) onTrouble(thrown);
    } finally {
      this.#looking = false;
    }
  }

  #show(isQueued: (uid: string) => boolean): void {
    const stood = new Map<string, Stood>();
    for (const [uid, resource] of this.#resources) {
      stood.set(uid, { resource, standing: standingOf(resource, isQueued(uid)) });
    }
    const all = [...stood.values()];
    const { settings } = this.#options.session;
    if (settings.statusLine) this.#setStatus(statusLine(all));
    if (settings.widget) this.#setWidget(widgetView(notReady(all)));
    this.#teller.see(stood);
  }

  #setStatus(text: string | undefined): void {
    if (text === this.#shown.status || !this.#options.session.settings.statusLine) return;
    this.#shown.status = text;
    this.#options.ui.setStatus(KEY, text);
  }

  #setWidget(view: View | undefined): void {
    const text = JSON.stringify(view);
    if (text === this.#shown.widget) return;
    if (text === undefined) delete this.#shown.widget;
    else this.#shown.widget = text;
    const { ui, tui } = this.#options;
    if (view === undefined) ui.setWidget(KEY, undefined);
    else if (!tui) ui.setWidget(KEY, layOut(view, PLAIN));
    else {
      ui.setWidget(KEY, (_tui, theme) => ({
        invalidate: () => undefined,
        render: (width) =>
          layOut(view, paintOf(theme), Math.max(1, width - 1)).map((line) => ` ${line}`),
      }));
    }
  }
}

/** Tells whether a resource is queued. Where more are than are told of, all count as such. */
async function queueOf(client: Client, project: string): Promise<(uid: string) => boolean> {
  const rows = await client.queue({ project, limit: QUEUE_ROWS });
  if (rows.length === QUEUE_ROWS) return () => true;
  const uids = new Set(rows.map(({ uid }) => uid));
  return (uid) => uids.has(uid);
}

/** What is not ready and why, a few lines; undefined where all is well. */
export function widgetView(waiting: readonly Stood[]): View | undefined {
  if (waiting.length === 0) return undefined;
  const shown = waiting.slice(0, waiting.length > WIDGET_ROWS ? WIDGET_ROWS - 1 : WIDGET_ROWS);
  const rest = waiting.length - shown.length;
  const rows = shown.map(({ resource, standing }) => {
    const bad = standing.state === "attention";
    const { reason, message } = standing;
    return [
      { text: bad ? "!" : "…", tone: bad ? ("bad" as const) : ("dim" as const) },
      printable(describeRef(resource.metadata)),
      { text: printable(message ? `${reason}: ${message}` : reason), tone: "dim" as const },
    ];
  });
  const columns = [{ title: "" }, { title: "", least: 16 }, { title: "", least: 16, drop: 1 }];
  return {
    table: { columns, rows, bare: true },
    ...(rest > 0 ? { text: `  and ${rest} more: /resource-manager list --not-ready` } : {}),
  };
}

/** What went wrong in the background, told once for each thing that can go wrong. */
export function createTrouble(say: (text: string) => void): (thrown: unknown) => void {
  const told = new Set<string>();
  return (thrown) => {
    const text = described(thrown);
    if (told.has(text)) return;
    told.add(text);
    say(text);
  };
}

/** What a server that is none of ours sends may have any shape, also where it reports an error. */
function described(thrown: unknown): string {
  try {
    return describeError(thrown);
  } catch {
    return "pi-workflows: what the server answers can't be read";
  }
}
