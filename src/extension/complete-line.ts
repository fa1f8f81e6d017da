import { complete } from "./completion.ts";
import type { Grammar } from "./grammar.ts";
import { liveNames } from "./names.ts";
import type { Completion } from "./pi.ts";
import type { Session } from "./session.ts";

/** Completions for what is typed in a session; null where there are none. Never throws. */
export async function completeLine(
  grammar: Grammar,
  prefix: string,
  session: Session | undefined,
): Promise<Completion[] | null> {
  if (!session) return null;
  try {
    const names = liveNames(session.link, session.project);
    return await complete(grammar, prefix, { names, cwd: session.cwd });
  } catch {
    return null;
  }
}
