import { ERRORS, toPiWorkflowsError, type PiWorkflowsError } from "../model/errors.ts";
import { VERSION } from "../model/installation.ts";
import { formatProblem, type Problem } from "../model/problem.ts";
import { printableLines } from "../model/text.ts";

/** What was thrown, for people: what happened and what to do. */
export function describeError(thrown: unknown): string {
  const error = toPiWorkflowsError(thrown);
  const listed = (error.details?.["problems"] ?? []) as (Problem | string)[];
  // Those that are texts are in the message.
  const problems = listed.filter((problem) => typeof problem !== "string");
  const [title = ""] = error.message.split(":\n");
  const lines = [
    ...problems.map(formatProblem),
    `pi-workflows: ${problems.length === 0 ? error.message : title}`,
    ...hintOf(error),
  ];
  return printableLines(lines.join("\n"));
}

/** The exit code that the command line gives for it. */
export function exitCodeOf(thrown: unknown): number {
  return ERRORS[toPiWorkflowsError(thrown).code].exit;
}

function hintOf(error: PiWorkflowsError): string[] {
  if (error.code === "VERSION_MISMATCH") return [mismatchHint(error)];
  if (error.code === "INTERNAL" && error.hint === ERRORS.INTERNAL.hint) return [];
  return error.hint === "" ? [] : [error.hint];
}

/** Pi's package and a global command are two installations, which are upgraded one by one. */
function mismatchHint({ details }: PiWorkflowsError): string {
  const older = details?.["upgrade"] === "client" ? "extension" : "server";
  const two =
    `This extension is of version ${VERSION}; the server that runs was started by another ` +
    "installation, such as the global command. ";
  return older === "extension"
    ? `${two}Upgrade Pi's package: \`pi update npm:@osolmaz/pi-workflows\`, then /reload.`
    : `${two}Upgrade that: \`npm install --global @osolmaz/pi-workflows\`, then \`pi-workflows server stop\`.`;
}
