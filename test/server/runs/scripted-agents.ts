import type { AgentAnswer, AgentPort, AgentRequest } from "../../../src/model/agent.ts";

/** One question that a scripted agent was asked. */
export type Asked = {
  request: AgentRequest;
  signal: AbortSignal;
  say(text: string): void;
  answer(answer: AgentAnswer): void;
};

/** Agents that say what the test says: at once with `answer`, or when it answers a question. */
export function scriptedAgents(answer?: (request: AgentRequest) => AgentAnswer): {
  port: AgentPort;
  asked: Asked[];
  closed: string[];
  stopped: () => boolean;
} {
  const asked: Asked[] = [];
  const closed: string[] = [];
  let stopped = false;
  const port: AgentPort = {
    ask: (request, onText, signal) =>
      new Promise((resolve) => {
        asked.push({ request, signal, say: onText, answer: resolve });
        signal.addEventListener("abort", () =>
          resolve({ state: "failed", reason: "Cancelled", message: "closed", retryable: true }),
        );
        if (answer) resolve(answer(request));
      }),
    close: (runId, conversation) => {
      closed.push(`${runId}/${conversation}`);
      return Promise.resolve();
    },
    alive: () => asked.length - closed.length,
    stop: () => {
      stopped = true;
      return Promise.resolve();
    },
  };
  return { port, asked, closed, stopped: () => stopped };
}
