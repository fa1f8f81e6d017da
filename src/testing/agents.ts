import type { AgentAnswer, AgentPort, AgentRequest } from "../model/agent.ts";
import type { Json } from "../model/canonical.ts";

/** What an agent is asked. In memory also by which node. */
export type ScriptedQuestion = Omit<AgentRequest, "runId"> & { node?: string };

/** What agents say: a result, or a whole answer, to let one fail. An error that it throws is a lost model. */
export type AgentScript = (
  question: ScriptedQuestion,
) => Json | AgentAnswer | Promise<Json | AgentAnswer>;

/** Asks a script as Pi would be asked; without one, as where Pi is not installed. Never rejects. */
export async function askScript(
  script: AgentScript | undefined,
  question: ScriptedQuestion,
): Promise<AgentAnswer> {
  if (script === undefined) {
    const message = "no agents were scripted for this test";
    return { state: "failed", reason: "PiMissing", message, retryable: false };
  }
  try {
    const said = await script(question);
    return isAnswer(said) ? said : { state: "answered", value: said };
  } catch (thrown) {
    return { state: "failed", reason: "ModelFailed", message: String(thrown), retryable: true };
  }
}

/** A server's agents that say what a script says. */
export function scriptedAgents(script: AgentScript): AgentPort {
  return {
    ask: (request, onText) => {
      onText(request.prompt);
      return askScript(script, request);
    },
    close: () => Promise.resolve(),
    alive: () => 0,
    stop: () => Promise.resolve(),
  };
}

function isAnswer(said: Json | AgentAnswer): said is AgentAnswer {
  if (typeof said !== "object" || said === null || Array.isArray(said)) return false;
  return said.state === "answered" || (said.state === "failed" && "retryable" in said);
}
