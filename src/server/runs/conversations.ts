import type { AgentAnswer } from "../../model/agent.ts";
import type { AttemptRef } from "../../model/run.ts";
import type { AgentQuestion } from "../../runner/run-port.ts";
import type { Agents } from "./agents.ts";
import { createTranscript } from "./transcript.ts";

/** The agents that one pass of a run talks to; none outlives it. */
export type Conversations = {
  ask(question: AgentQuestion): Promise<AgentAnswer>;
  close(conversation: string): Promise<void>;
  closeAll(): Promise<void>;
};

/** `keep` writes a piece of a transcript to the run's log. */
export function createConversations(
  agents: Agents,
  runId: string,
  keep: (attempt: Pick<AttemptRef, "visit" | "node">, text: string) => Promise<void>,
): Conversations {
  /** What each aborts calls off questions that still wait for their turn. */
  const open = new Map<string, AbortController>();
  const close = async (conversation: string): Promise<void> => {
    open.get(conversation)?.abort();
    open.delete(conversation);
    await agents.close(runId, conversation);
  };
  return {
    async ask({ visit, node, ...question }) {
      const { conversation } = question;
      const controller = open.get(conversation) ?? new AbortController();
      open.set(conversation, controller);
      const transcript = createTranscript((text) => keep({ visit, node }, text));
      const request = { ...question, runId };
      const answer = await agents.ask(request, transcript.push, controller.signal);
      await transcript.flushed();
      return answer;
    },
    close,
    closeAll: async () => void (await Promise.allSettled([...open.keys()].map(close))),
  };
}
