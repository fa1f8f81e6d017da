import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import { PiWorkflowsError } from "../model/errors.ts";
import { printableLines } from "../model/text.ts";
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
  const answer = await ask(`${what}? [y/N] `, cli.signal);
  if (/^y(?:es)?$/i.test(answer.trim())) return;
  throw new PiWorkflowsError(
    "NEEDS_CONFIRMATION",
    `${what} was not confirmed; nothing was changed`,
  );
}

/** What a person answers on the terminal; nothing where it is closed. */
export async function ask(question: string, signal: AbortSignal): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    // A terminal that is closed never answers.
    const closed = once(terminal, "close").then(() => "");
    return await Promise.race([terminal.question(printableLines(question), { signal }), closed]);
  } finally {
    terminal.close();
  }
}
