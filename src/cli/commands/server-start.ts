import type { Action } from "../verb.ts";

export const run: Action<object> = async (cli) => {
  const running = await cli.client({ start: false });
  const client = running ?? (await cli.client());
  const hello = await client.hello();
  cli.output.result({ ...hello, started: running === undefined }, () =>
    running === undefined
      ? `started, pid ${hello.pid}`
      : `runs already, pid ${hello.pid}, version ${hello.version}`,
  );
};
