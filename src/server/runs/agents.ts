import type { AgentAnswer, AgentPort } from "../../model/agent.ts";
import { LIMITS } from "../../model/limits.ts";

/** Agents as passes of runs use them. */
export type Agents = AgentPort & {
  /** Questions that wait for their turn. */
  queued(): number;
};

/**
 * Lets at most `atOnce` agents work at once; further questions wait, first come, first served. Their
 * own deadline begins with their turn.
 */
export function boundAgents(port: AgentPort, atOnce: number = LIMITS.agents): Agents {
  const waiting: (() => void)[] = [];
  let working = 0;
  const turn = (signal: AbortSignal): Promise<boolean> => {
    if (signal.aborted) return Promise.resolve(false);
    if (working < atOnce) {
      working += 1;
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const begin = (): void => {
        signal.removeEventListener("abort", leave);
        resolve(true);
      };
      const leave = (): void => {
        waiting.splice(waiting.indexOf(begin), 1);
        resolve(false);
      };
      signal.addEventListener("abort", leave, { once: true });
      waiting.push(begin);
    });
  };
  const done = (): void => {
    const next = waiting.shift();
    // Its place is handed on, so that nobody who comes meanwhile takes it.
    if (next) next();
    else working -= 1;
  };
  return {
    async ask(request, onText, signal) {
      if (!(await turn(signal))) return CALLED_OFF;
      try {
        return await port.ask(request, onText, signal);
      } finally {
        done();
      }
    },
    close: (runId, conversation) => port.close(runId, conversation),
    alive: () => port.alive(),
    stop: () => port.stop(),
    queued: () => waiting.length,
  };
}

const CALLED_OFF: AgentAnswer = {
  state: "failed",
  reason: "Cancelled",
  message: "It was called off before an agent was free.",
  retryable: true,
};
