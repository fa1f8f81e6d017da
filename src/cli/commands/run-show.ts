import type { Cli } from "../invocation.ts";
import { adviceOn } from "../runs/advice.ts";
import { describeRun } from "../runs/describe.ts";
import { readRunDetails } from "../runs/details.ts";
import { findRun } from "../runs/find.ts";
import { presentableRun } from "../runs/secrets.ts";
import type { Documents } from "../schemas/documents.ts";
import type { Action } from "../verb.ts";

type Options = { inputs?: boolean; outputs?: boolean; showSecrets?: boolean };

export const run: Action<Options> = async (cli, options, ...args) => {
  const [typed] = args as [string];
  const stored = await findRun(cli, typed);
  const bodies = options.inputs === true || options.outputs === true;
  const details = presentableRun(
    await readRunDetails(await cli.reader(), stored, { bodies }),
    options.showSecrets === true,
  );
  const now = Date.now();
  const advice = adviceOn({ ...details, serverRuns: await serverRuns(cli), now });
  const { run: shown, nodes, questions, attempts } = details;
  const document = { run: shown, nodes, questions, attempts, advice };
  cli.output.result(document satisfies Documents["run-show"], () =>
    describeRun(details, {
      inputs: options.inputs === true,
      outputs: options.outputs === true,
      colors: cli.output.colors,
      now,
      advice,
    }),
  );
};

async function serverRuns(cli: Cli): Promise<boolean> {
  return (await cli.client({ start: false, anyVersion: true })) !== undefined;
}
