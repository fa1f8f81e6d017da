import type { Documents } from "../schemas/documents.ts";
import type { Action } from "../verb.ts";

export const run: Action<object> = async (cli) => {
  const client = await cli.client();
  const disabled = await client.syncDisable(cli.project);
  cli.output.result({ disabled } satisfies Documents["sync-disable"], () =>
    disabled
      ? "sync is disabled; the resources stay as they are"
      : "sync was not enabled for this project",
  );
};
