import { once } from "node:events";
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
  if (await answersYes(`${what}? [y/N] `, cli.signal)) return;
  throw new PiWorkflowsError(
    "NEEDS_CONFIRMATION",
    `${what} was not confirmed; nothing was changed`,
  );
}

async function answersYes(question: string, signal: AbortSignal): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    // A terminal that is closed never answers.
    const closed = once(terminal, "close").then(() => "");
    const answer = await Promise.race([terminal.question(question, { signal }), closed]);
    return /^y(?:es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}
