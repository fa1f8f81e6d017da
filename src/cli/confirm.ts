import { createInterface } from "node:readline/promises";
import { PiWorkflowsError } from "../model/errors.ts";
import type { Cli } from "./invocation.ts";

/**
 * Asks on a terminal; elsewhere only `--yes` confirms.
 * @throws PiWorkflowsError NEEDS_CONFIRMATION
 */
export async function confirm(cli: Cli, what: string, yes: boolean): Promise<void> {
  if (yes) return;
  if (!cli.output.interactive || cli.output.format === "json") {
    throw new PiWorkflowsError("NEEDS_CONFIRMATION", `${what} needs a confirmation`);
  }
  const questions = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await questions.question(`${what}? [y/N] `, { signal: cli.signal });
    if (/^y(?:es)?$/i.test(answer.trim())) return;
  } finally {
    questions.close();
  }
  throw new PiWorkflowsError(
    "NEEDS_CONFIRMATION",
    `${what} was not confirmed; nothing was changed`,
  );
}
