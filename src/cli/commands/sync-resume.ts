import type { Documents } from "../schemas/documents.ts";
import type { Action } from "../verb.ts";

export const run: Action<object> = async (cli) => {
  const client = await cli.client();
  const status = await client.syncResume(cli.project);
  cli.output.result(status satisfies Documents["sync-resume"], () => "resumed; it catches up now");
};
