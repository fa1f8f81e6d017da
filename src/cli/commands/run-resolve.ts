import { PiWorkflowsError } from "../../model/errors.ts";
import type { NodeResolution } from "../../model/run.ts";
import type { Cli } from "../invocation.ts";
import { parseArgument, textOfArgument } from "../json-argument.ts";
import { changeRun, nameOf } from "../runs/change.ts";
import type { Action } from "../verb.ts";

type Options = {
  succeeded?: boolean;
  value?: string;
  failed?: string;
  retry?: boolean;
  visit?: number;
};

export const run: Action<Options> = async (cli, options, ...args) => {
  const [typed] = args as [string];
  const resolution = await resolutionOf(cli, options);
  await changeRun(
    cli,
    typed,
    (client, { runId }) => client.resolveRun(runId, resolution, options.visit),
    (after, before) =>
      `${nameOf(after)}: ${before.node ?? "the attempt"} ${WORDS[resolution.outcome]}`,
  );
};

const WORDS: Readonly<Record<NodeResolution["outcome"], string>> = {
  succeeded: "is taken as done",
  failed: "is taken as failed",
  retry: "is made again",
};

async function resolutionOf(cli: Cli, options: Options): Promise<NodeResolution> {
  const said = [options.succeeded, options.failed !== undefined, options.retry].filter(Boolean);
  if (said.length !== 1) {
    throw new PiWorkflowsError("USAGE", "say --succeeded, --failed MESSAGE or --retry", {
      hint: "Look at the outside world first: this is recorded as the truth.",
    });
  }
  if (options.value !== undefined && !options.succeeded) {
    throw new PiWorkflowsError("USAGE", "--value goes with --succeeded");
  }
  if (options.failed !== undefined) return { outcome: "failed", message: options.failed };
  if (options.retry) return { outcome: "retry" };
  if (options.value === undefined) return { outcome: "succeeded" };
  const argument = { what: "value", example: '{"id": 1}' };
  const output = parseArgument(await textOfArgument(cli, options.value, argument), argument);
  return { outcome: "succeeded", output };
}
