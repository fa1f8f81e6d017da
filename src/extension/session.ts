import { projectOf } from "../sources/project.ts";
import { runCommandLine, type Said } from "./child.ts";
import { Link } from "./link.ts";
import { MEMORY, Memory } from "./memory.ts";
import { findNode } from "./node.ts";
import type { Context, Pi } from "./pi.ts";
import { DEFAULTS, readSettings } from "./settings.ts";
import type { PiSettings } from "../model/pi-settings.ts";

/** One session of Pi, from its start to its shutdown: nothing of it may be used afterwards. */
export type Session = {
  id: string;
  cwd: string;
  /** Canonical path of the project of the session's folder. */
  project: string;
  link: Link;
  memory: Memory;
  settings: PiSettings;
  /** What is wrong with a settings file; the defaults hold then. */
  settingsError?: unknown;
  /** Runs this package's command line in the session's folder. */
  run(
    args: readonly string[],
    how?: { signal?: AbortSignal | undefined; input?: string },
  ): Promise<Said>;
  close(): void;
};

/** Begins a session; connects nowhere yet. */
export function openSession(pi: Pi, ctx: Context): Session {
  const link = new Link({ findNode });
  const { cwd } = ctx;
  const project = projectOf(cwd);
  const { settings, settingsError } = settingsOf(ctx);
  return {
    id: ctx.sessionManager.getSessionId(),
    cwd,
    project,
    link,
    memory: new Memory(ctx.sessionManager.getEntries(), (entry) => {
      if (!link.closed.aborted) pi.appendEntry(MEMORY, entry);
    }),
    settings,
    ...(settingsError === undefined ? {} : { settingsError }),
    async run(args, { signal, input } = {}) {
      const node = await findNode();
      const ends = signal ? AbortSignal.any([signal, link.closed]) : link.closed;
      return runCommandLine(args, {
        node,
        cwd,
        signal: ends,
        ...(input === undefined ? {} : { input }),
      });
    },
    close: () => link.close(),
  };
}

function settingsOf(ctx: Context): { settings: PiSettings; settingsError?: unknown } {
  try {
    return { settings: readSettings(ctx.cwd, ctx.isProjectTrusted?.() ?? true) };
  } catch (settingsError) {
    return { settings: DEFAULTS, settingsError };
  }
}
