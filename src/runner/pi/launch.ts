import { fileURLToPath } from "node:url";
import { installationUrl } from "../../model/installation.ts";
import { ANSWER_TOOL } from "./answer-tool.ts";
import type { PiInstallation } from "./installation.ts";

/** What holds for all questions of one conversation. */
export type Surroundings = { tools: string[]; model?: string; cwd: string };

const RPC = ["--mode", "rpc", "--no-session"];

// An agent of a workflow is what its definition says, on every machine: nothing of the user's own
// setup of Pi but its models and credentials, and nothing of what the folder brings along, which may
// be a stranger's. Older versions don't know all of them.
const HERMETIC = [
  "--no-extensions",
  "--no-skills",
  "--no-prompt-templates",
  "--no-themes",
  "--no-context-files",
  "--no-mcp",
  "--no-approve",
];

/** The whole command of an agent. */
export function piCommand(
  { command, flags }: PiInstallation,
  { tools, model }: Surroundings,
): string[] {
  const extension = fileURLToPath(installationUrl("dist/runner/pi/submit-result.js"));
  const quiet = HERMETIC.filter((flag) => flags.has(flag));
  const choice = model === undefined ? [] : ["--model", model];
  const allowed = [...tools, ANSWER_TOOL].join(",");
  return [...command, ...RPC, ...quiet, "--extension", extension, "--tools", allowed, ...choice];
}
