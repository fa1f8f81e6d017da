import type { StoredRun } from "../../model/run.ts";
import { printable } from "../../model/text.ts";
import type { Client } from "../../server/protocol.ts";
import type { Cli } from "../invocation.ts";
import type { Documents } from "../schemas/documents.ts";
import { findRun } from "./find.ts";
import { shortId } from "./ids.ts";
import { presentableStored } from "./secrets.ts";

/** Does one thing to the run that a person named, and says what came of it. */
export async function changeRun(
  cli: Cli,
  typed: string,
  act: (client: Client, run: StoredRun) => Promise<StoredRun>,
  words: (after: StoredRun, before: StoredRun) => string,
): Promise<void> {
  const before = await findRun(cli, typed);
  const client = await cli.client();
  printChanged(cli, await presentableStored(client, await act(client, before)), (after) =>
    words(after, before),
  );
}

/** Prints a run that was changed. */
export function printChanged(cli: Cli, run: StoredRun, words: (run: StoredRun) => string): void {
  cli.output.result({ run } satisfies Documents["run-pause"], () => printable(words(run)));
}

/** `check-links 1f2e3d4c`. */
export function nameOf({ workflow, runId }: StoredRun): string {
  return `${workflow} ${shortId(runId)}`;
}
