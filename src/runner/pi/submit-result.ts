import { readFileSync } from "node:fs";
import { ANSWER_FILE, ANSWER_TOOL } from "./answer-tool.ts";

/**
 * The extension that our Pi is started with: a tool that takes the answer and ends the turn. It
 * imports nothing of Pi, so that one file serves every version.
 */

/** What it uses of Pi's interface for extensions. */
type Pi = {
  registerTool(tool: object): void;
  on(event: "before_agent_start", listen: () => void): void;
};

export default function submitResult(pi: Pi): void {
  const file = process.env[ANSWER_FILE] as string;
  // What Pi starts has no business with it.
  delete process.env[ANSWER_FILE];
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
