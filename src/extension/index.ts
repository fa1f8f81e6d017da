import { completeLine } from "./complete-line.ts";
import { describeError } from "./errors.ts";
import { parseCall, type Call, type Grammar } from "./grammar.ts";
import { outputFor, registerRenderers } from "./output.ts";
import type { Context, Pi } from "./pi.ts";
import { startBackground } from "./background.ts";
import { resourceCommand, type Scene } from "./resource-commands.ts";
import { openSession, type Session } from "./session.ts";
import { registerTools } from "./tools.ts";
import { RESOURCE_MANAGER, WORKFLOW } from "./verbs.ts";
import { workflowCommand } from "./workflow-commands.ts";

/**
 * The extension of Pi: two commands, two tools, and what is shown of the server's work. It holds
 * nothing but connections, which live from `session_start` to `session_shutdown`. Pi does not start
 * with an extension that throws here, so nothing is done here that can fail.
 */
export default function piWorkflows(pi: Pi): void {
  let session: Session | undefined;
  const sessionOf = (ctx: Context): Session => (session ??= openSession(pi, ctx));
  const end = (): void => {
    session?.close();
    session = undefined;
  };

  pi.on("session_start", async (_event, ctx) => {
    end();
    guarded(ctx, () => startBackground(pi, ctx, sessionOf(ctx)));
  });
  pi.on("session_shutdown", async () => end());

  const command = (grammar: Grammar, run: (call: Call, scene: Scene) => Promise<void>): void =>
    pi.registerCommand(grammar.command, {
      description: grammar.about,
      getArgumentCompletions: (prefix) => completeLine(grammar, prefix, session),
      async handler(line, ctx) {
        const output = outputFor(pi, ctx);
        let asked: Session | undefined;
        try {
          asked = sessionOf(ctx);
          await run(parseCall(grammar, line), { session: asked, ctx, output });
        } catch (thrown) {
          // Of a session that has ended nothing may be used, and nobody looks.
          if (!asked?.link.closed.aborted) output.fail(thrown);
        }
      },
    });
  command(RESOURCE_MANAGER, resourceCommand);
  command(WORKFLOW, workflowCommand);
  registerTools(pi, sessionOf);
  registerRenderers(pi);
}

function guarded(ctx: Context, work: () => void): void {
  try {
    work();
  } catch (thrown) {
    if (ctx.hasUI) ctx.ui.notify(describeError(thrown), "error");
  }
}
