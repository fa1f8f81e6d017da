import type { Documents } from "../schemas/documents.ts";
import { describeSync, exitCodeOf } from "../sync-text.ts";
import type { Action } from "../verb.ts";

type Options = { allowEmpty?: boolean };

export const run: Action<Options> = async (cli, options) => {
  const client = await cli.client();
  const allowEmpty = options.allowEmpty === true;
  const status = await client.syncNow(cli.project, allowEmpty ? { allowEmpty } : {});
  // What it was doing when it answered says nothing about what comes next.
  const { activity: _activity, ...reported } = status;
  cli.output.result(status satisfies Documents["sync-now"], () =>
    describeSync(reported, { colors: cli.output.colors, now: Date.now() }),
  );
  return exitCodeOf(status);
};
