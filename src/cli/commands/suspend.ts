import { setSuspended } from "../suspension.ts";
import type { Action } from "../verb.ts";

export const run: Action<object> = async (cli, _options, ...args) => {
  const [manager, key] = args as [string, string];
  await setSuspended(cli, { manager, key }, true);
};
