import type { AgentPort } from "../../model/agent.ts";
import type { PiAgentOptions } from "../../runner/pi/agents.ts";
import type { Config } from "../config.ts";
import { boundAgents, type Agents } from "./agents.ts";

/** What agents are made of: a port handed over, or the real Pi. */
export type AgentsOptions = Omit<PiAgentOptions, "command"> & {
  port: AgentPort | undefined;
  config: Config["pi"];
};

/** The agents of a server. Nothing of Pi is loaded or looked for before the first question. */
export function openAgents({ port, config, ...options }: AgentsOptions): Agents {
  const { command, model } = config ?? {};
  const made = port ?? lazily(() => piAgents({ ...options, ...(command ? { command } : {}) }));
  const ask: AgentPort["ask"] = (request, onText, signal) =>
    made.ask(model === undefined ? request : { model, ...request }, onText, signal);
  return boundAgents({
    ask,
    close: (runId, conversation) => made.close(runId, conversation),
    alive: () => made.alive(),
    stop: () => made.stop(),
  });
}

async function piAgents(options: PiAgentOptions): Promise<AgentPort> {
  const { createPiAgents } = await import("../../runner/pi/agents.ts");
  return createPiAgents(options);
}

/** A port that is made at its first question. */
function lazily(make: () => Promise<AgentPort>): AgentPort {
  let making: Promise<AgentPort> | undefined;
  let made: AgentPort | undefined;
  return {
    async ask(request, onText, signal) {
      making ??= make();
      made = await making;
      return made.ask(request, onText, signal);
    },
    close: async (runId, conversation) => (await making)?.close(runId, conversation),
    alive: () => made?.alive() ?? 0,
    stop: async () => (await making)?.stop(),
  };
}
