import type { Documents } from "../schemas/documents.ts";
import type { Action } from "../verb.ts";

export const run: Action<object> = async (cli) => {
  const client = await cli.client();
  const status = await client.syncSuspend(cli.project);
  cli.output.result(
    status satisfies Documents["sync-suspend"],
    () => "suspended; sync goes on planning, and applies nothing",
  );
};
