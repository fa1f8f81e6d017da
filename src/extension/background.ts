import { existsSync } from "node:fs";
import path from "node:path";
import { PI_PROJECT_SETTINGS, type PiSettings } from "../model/pi-settings.ts";
import type { Context, Pi } from "./pi.ts";
import { modeOf, SHOWN } from "./output.ts";
import { createTrouble, Presence } from "./presence.ts";
import { Questioner } from "./questioner.ts";
import type { Session } from "./session.ts";

/** What a project has that uses pi-workflows. */
const SIGNS = [".pi/resources", ".pi/resource-managers", ".pi/workflows"];

/**
 * Begins what goes on beside the conversation: status line, widget, notices and questions. Only where
 * a person sees them. Nothing in here throws or rejects.
 */
export function startBackground(pi: Pi, ctx: Context, session: Session): void {
  if (!ctx.hasUI) return;
  const { ui } = ctx;
  const { closed } = session.link;
  const onTrouble = createTrouble((text) => {
    if (!closed.aborted) ui.notify(text, "warning");
  });
  if (session.settingsError !== undefined) onTrouble(session.settingsError);
  const allowed = allowedText(session.settings);
  if (allowed !== undefined) ui.notify(allowed, "warning");
  const tell = (text: string): void => {
    if (closed.aborted) return;
    // The model should know too when it is asked next; no turn is begun for it.
    pi.sendMessage(
      { customType: SHOWN, content: text, display: true, details: { text } },
      { triggerTurn: false },
    );
  };
  const tui = modeOf(ctx) === "tui";
  const safely = (work: Promise<void>): void => {
    work.catch((thrown: unknown) => {
      if (!closed.aborted) onTrouble(thrown);
    });
  };
  if (needsServer(session)) safely(session.link.ensureServer());
  // Pi before 1.0 puts what is said while the model works before it, which makes it go on.
  const mayTell = (): boolean => ctx.mode !== undefined || ctx.isIdle();
  safely(new Presence({ session, ui, tui, tell, mayTell, onTrouble }).run());
  safely(new Questioner({ session, ui, onTrouble }).run());
}

/**
 * What the model may do unasked, for a person to see: the model can write the file that says so, and
 * wait for the next session.
 */
function allowedText(settings: PiSettings): string | undefined {
  const allowed = [
    ...(settings.applyWithoutConfirmation ? ["apply specs"] : []),
    ...(settings.answerWithoutConfirmation ? ["answer checkpoints"] : []),
  ].join(" and ");
  if (allowed === "") return undefined;
  return `pi-workflows: the model may ${allowed} without asking you, as ${PI_PROJECT_SETTINGS} says.`;
}

/** Elsewhere a server is started by the first command, and not because Pi was. */
function needsServer({ project, memory }: Session): boolean {
  return (
    memory.resources().length > 0 || SIGNS.some((folder) => existsSync(path.join(project, folder)))
  );
}
