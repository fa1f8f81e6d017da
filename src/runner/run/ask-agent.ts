import type { AgentFault, AgentRequest } from "../../model/agent.ts";
import { LIMITS } from "../../model/limits.ts";
import type { Work } from "../../workflows/compiled.ts";
import { jsonSchemaOf } from "../../workflows/json-schema.ts";
import type { RunHost } from "../run-port.ts";
import type { Attempt } from "./attempt.ts";
import { AttemptFailed } from "./failures.ts";
import { HandOverError, problemsOf } from "./hand-over.ts";

/** What is asked; who answers, and in what form, is the node's. */
export type Question = Pick<AgentRequest, "conversation" | "prompt" | "cwd" | "deadlineMs">;

/**
 * Asks an agent, and tells it what is wrong with an answer that does not fit, at most
 * LIMITS.agentCorrections times. A question that is called off ends its conversation.
 * @throws AttemptFailed where there is no answer, HandOverError where none fits.
 */
export async function askAgent(
  host: Pick<RunHost, "askAgent" | "closeAgent">,
  attempt: Attempt,
  { question, work }: { question: Question; work: Extract<Work, { by: "agent" }> },
): Promise<unknown> {
  const { signal, ref } = attempt;
  signal.throwIfAborted();
  const request = {
    visit: ref.visit,
    node: ref.node,
    ...question,
    schema: jsonSchemaOf(work.schema) ?? {},
    tools: [...work.tools],
    ...(work.model === undefined ? {} : { model: work.model }),
  };
  const close = (): void => void host.closeAgent(question.conversation).catch(() => {});
  signal.addEventListener("abort", close, { once: true });
  try {
    for (let corrections = 0, { prompt } = question; ; corrections += 1) {
      const answer = await host.askAgent({ ...request, prompt });
      signal.throwIfAborted();
      if (answer.state === "failed") throw faulted(answer);
      const fitting = work.schema.safeParse(answer.value);
      if (fitting.success) return fitting.data;
      const problems = problemsOf(fitting.error, answer.value);
      if (corrections === LIMITS.agentCorrections) {
        const told = `it was told ${corrections} times what is wrong`;
        const message = `the agent of node ${ref.node} gave an answer that does not fit, and ${told}: ${problems}`;
        throw new HandOverError("InvalidOutput", message);
      }
      prompt = `Your answer does not fit what is wanted: ${problems}\nAnswer again, in the form that is wanted.`;
    }
  } finally {
    signal.removeEventListener("abort", close);
  }
}

function faulted(answer: { reason: AgentFault; message: string; retryable: boolean }): Error {
  const reason = answer.reason === "Deadline" ? "DeadlineExceeded" : answer.reason;
  return new AttemptFailed(reason, answer.message, answer.retryable);
}
