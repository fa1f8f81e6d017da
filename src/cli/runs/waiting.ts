import { PiWorkflowsError } from "../../model/errors.ts";
import type { RunQuestion, RunSummary, StoredRun } from "../../model/run.ts";
import { printable } from "../../model/text.ts";
import type { Client } from "../../server/protocol.ts";
import type { Cli } from "../invocation.ts";
import { adviceOn } from "./advice.ts";
import { adviceLines, json, titleOf } from "./describe.ts";
import { readRunDetails } from "./details.ts";
import { followRun } from "./follow.ts";
import { shortId } from "./ids.ts";
import { presentableRun } from "./secrets.ts";

/** What a command that waited prints with `-o json`. */
export type Waited = { run: StoredRun; questions: RunQuestion[] };

/** A shell's code of a command that Ctrl-C ended. */
const INTERRUPTED = 130;

/**
 * Waits until a run has ended or waits for a person, prints what it came to, and returns the exit
 * code: 0 succeeded, 1 failed, 3 waits for a person, 130 where Ctrl-C came first.
 * @throws PiWorkflowsError WAIT_TIMEOUT, SERVER_UNREACHABLE
 */
export async function waitForRun(
  cli: Cli,
  client: Client,
  run: RunSummary,
  timeoutMs: number | undefined,
): Promise<number> {
  const end = await followRun(cli, client, run, timeoutMs);
  if (end === undefined) {
    const id = shortId(run.runId);
    cli.output.note(
      `Run ${id} goes on. See it with \`pi-workflows run show ${id}\`, wait on with ` +
        `\`pi-workflows run wait ${id}\`, call it off with \`pi-workflows run cancel ${id}\`.`,
    );
    return INTERRUPTED;
  }
  const reader = await cli.reader();
  const details = await readRunDetails(reader, await runAt(client, run.runId), { bodies: false });
  const { run: shown, nodes, questions } = presentableRun(details, false);
  const now = Date.now();
  const advice = adviceOn({ run: shown, questions, nodes, serverRuns: true, now });
  cli.output.result({ run: shown, questions } satisfies Waited, () =>
    [
      `${printable(run.workflow)} ${shortId(run.runId)} ${titleOf(shown, cli.output.colors, now)}`,
      ...(shown.output === undefined || shown.output === null ? [] : [json(shown.output)]),
      ...adviceLines(advice),
    ].join("\n"),
  );
  return exitCodeOf(shown);
}

async function runAt(client: Client, runId: string): Promise<StoredRun> {
  const run = await client.run(runId);
  if (run) return run;
  throw new PiWorkflowsError("NOT_FOUND", `run ${runId} is gone`);
}

/** 0 succeeded, 1 failed, 3 waits for a person: what scripts act on. */
export function exitCodeOf(run: RunSummary): 0 | 1 | 3 {
  if (run.state === "succeeded") return 0;
  return run.state === "failed" ? 1 : 3;
}
