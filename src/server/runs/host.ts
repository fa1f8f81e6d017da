import { LIMITS } from "../../model/limits.ts";
import type { JournalInput, RunLogInput } from "../../model/run.ts";
import type { RunHost } from "../../runner/run-port.ts";
import { createGuard } from "../guarded.ts";
import { touchedBy } from "../pass.ts";
import type { SecretMask } from "../secret-values.ts";
import { createConversations } from "./conversations.ts";
import type { ClaimedRun, RunPassServices } from "./pass.ts";

/**
 * The one door from a run's runner to the store, the log and agents. Secret values of the input are
 * masked in what only people read: the log, transcripts, and what went wrong. The journal keeps inputs
 * and outputs as they are, since the run is computed from them; clients mask them where they show them.
 */
export function createRunHost(
  services: RunPassServices,
  claimed: ClaimedRun,
  { mask, abort }: { mask: SecretMask; abort: () => void },
): { port: RunHost; close(): Promise<void> } {
  const { store, changes, agents, clock } = services;
  const { claim, reconcileId, run } = claimed;
  const guarded = createGuard(changes, [touchedBy(claimed)], abort);
  const appendRunLog = (entries: RunLogInput[]): Promise<void> =>
    guarded(() => store.appendRunLog(claim, entries));
  // A mask may be longer than what it hides.
  const shown = (text: string): string => mask.text(text).slice(0, LIMITS.runLogPiece);
  const conversations = createConversations(agents, run.runId, ({ visit, node }, said) =>
    appendRunLog([{ at: clock.now(), visit, node, stream: "agent", text: shown(said) }]),
  );
  const port: RunHost = {
    secrets: mask.secrets,
    readJournal: (after, limit) => store.journal(run.runId, { after, limit, bodies: true }),
    appendJournal: (entries) =>
      guarded(() =>
        store.appendJournal(
          claim,
          entries.map((entry) => maskEntry(entry, mask)),
        ),
      ),
    appendRunLog: (entries) =>
      appendRunLog(entries.map((entry) => ({ ...entry, text: shown(entry.text) }))),
    runOrders: () => guarded(() => store.runOrders(claim)),
    askAgent: (question) => conversations.ask(question),
    closeAgent: (conversation) => conversations.close(conversation),
    beginEffect: (request) => guarded(() => store.beginEffect(claim, mask.begun(request))),
    settleEffect: (settlement) =>
      guarded(() => store.settleEffect(claim, mask.settled(settlement)), true),
    log: (level, message, fields) =>
      services.log[level](mask.text(message), {
        ...mask.fields(fields),
        reconcileId,
        from: "workflow",
      }),
  };
  return { port, close: () => conversations.closeAll() };
}

function maskEntry(entry: JournalInput, mask: SecretMask): JournalInput {
  if (entry.event !== "failed") return entry;
  const { message, stack, ...error } = entry.error;
  return {
    ...entry,
    error: {
      ...error,
      message: mask.text(message),
      ...(stack === undefined ? {} : { stack: mask.text(stack) }),
    },
  };
}
