import type { Documents } from "../schemas/documents.ts";
import type { Action } from "../verb.ts";

export const run: Action<object> = async (cli) => {
  const running = await cli.client({ start: false });
  const client = running ?? (await cli.client());
  const hello = await client.hello();
  const shown = { ...hello, started: running === undefined } satisfies Documents["server-start"];
  cli.output.result(shown, () =>
    running === undefined
      ? `started, pid ${hello.pid}`
      : `runs already, pid ${hello.pid}, version ${hello.version}`,
  );
};
