import { readFileSync } from "node:fs";
import { ANSWER_FILE, ANSWER_TOOL, KEPT_IN } from "./answer-tool.ts";
import { refusalOf } from "./folder.ts";

/**
 * The extension that our Pi is started with: a tool that takes the answer and ends the turn, and a
 * watch over the files that other tools name. It imports nothing of Pi, so that one file serves every
 * version.
 */

/** What it uses of Pi's interface for extensions. */
type Pi = {
  registerTool(tool: object): void;
  on(event: "before_agent_start", listen: () => void): void;
  on(event: "tool_call", judge: (call: ToolCall) => Refusal | undefined): void;
};
type ToolCall = { toolName: string; input: { path?: unknown } };
type Refusal = { block: true; reason: string };

export default function submitResult(pi: Pi): void {
  const file = process.env[ANSWER_FILE] as string;
  // What Pi starts has no business with it.
  delete process.env[ANSWER_FILE];
  if (process.env[KEPT_IN] !== undefined) keepIn(pi, process.env[KEPT_IN]);
  delete process.env[KEPT_IN];
  let known: string | undefined;
  const register = (): void => {
    const parameters = readFileSync(file, "utf8");
    if (parameters === known) return;
    known = parameters;
    pi.registerTool(toolOf(JSON.parse(parameters) as object));
  };
  register();
  // Another question of the conversation may want another kind of answer.
  pi.on("before_agent_start", register);
}

/** A judge that throws refuses the call as well. */
function keepIn(pi: Pi, folder: string): void {
  pi.on("tool_call", (call) => {
    const reason = refusalOf(folder, call);
    return reason === undefined ? undefined : { block: true, reason };
  });
}

function toolOf(parameters: object): object {
  return {
    name: ANSWER_TOOL,
    label: "Submit result",
    description:
      "Hands over the result of your work as `result` and ends your turn. Call it once, alone, when you are done.",
    promptSnippet: "Hand over the result of your work",
    parameters,
    execute: async (_id: string, { result }: { result: unknown }) => ({
      content: [{ type: "text", text: "The result was taken." }],
      details: { result },
      terminate: true,
    }),
  };
}
