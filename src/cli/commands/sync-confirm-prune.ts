import type { Documents } from "../schemas/documents.ts";
import { describeSync } from "../sync-text.ts";
import type { Action } from "../verb.ts";

export const run: Action<object> = async (cli, _options, ...args) => {
  const [hash] = args as [string];
  const client = await cli.client();
  const status = await client.syncConfirmPrune(cli.project, hash);
  // What it was doing when it answered says nothing about what comes next.
  const { activity: _activity, ...reported } = status;
  cli.output.result(status satisfies Documents["sync-confirm-prune"], () =>
    describeSync(reported, { colors: cli.output.colors, now: Date.now() }),
  );
};
