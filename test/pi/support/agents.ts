import type { AgentAnswer, AgentPort, AgentRequest } from "../../../src/model/agent.ts";
import { systemClock } from "../../../src/model/clock.ts";
import type { JsonSchema } from "../../../src/model/manifest.ts";
import { createPiAgents, type PiAgentOptions } from "../../../src/runner/pi/agents.ts";
import path from "node:path";
import { ensureBuilt } from "../../support/dist.ts";
import type { Lifetime, PiMachine } from "./machine.ts";

/** Agents as a server of `machine` has them. */
export function startAgents(
  test: Lifetime,
  machine: PiMachine,
  options: Partial<PiAgentOptions> = {},
): AgentPort {
  ensureBuilt("src/runner/pi/submit-result.ts");
  const silent = (): void => {};
  const agents = createPiAgents({
    env: machine.env,
    home: path.join(machine.root, "state"),
    token: `token-of-${path.basename(machine.root)}`,
    log: { debug: silent, info: silent, warn: silent, error: silent },
    clock: systemClock,
    ...options,
  });
  test.onTestFinished(() => agents.stop());
  return agents;
}

/** What most questions want. */
export const NUMBER: JsonSchema = { type: "number" };

/** A question, and what is to be seen of it. */
export type Asked = {
  answer: Promise<AgentAnswer>;
  /** The transcript so far. */
  texts: string[];
  cancel: () => void;
};

/** Asks for a number, unless told otherwise, with a minute's time. */
export function ask(
  agents: AgentPort,
  machine: PiMachine,
  request: Partial<AgentRequest> = {},
): Asked {
  const texts: string[] = [];
  const controller = new AbortController();
  const answer = agents.ask(
    {
      runId: "run-1",
      conversation: "node",
      prompt: "How many?",
      schema: NUMBER,
      tools: ["read"],
      cwd: machine.project,
      deadlineMs: 60_000,
      ...request,
    },
    (text) => texts.push(text),
    controller.signal,
  );
  return { answer, texts, cancel: () => controller.abort() };
}

/** The model's call of the tool that takes the answer. */
export function submits(result: unknown): { calls: { name: string; arguments: unknown }[] } {
  return { calls: [{ name: "submit_result", arguments: { result } }] };
}
