import { findRun } from "../runs/find.ts";
import { waitForRun } from "../runs/waiting.ts";
import type { Action } from "../verb.ts";

export const run: Action<{ timeout?: number }> = async (cli, { timeout }, ...args) => {
  const [typed] = args as [string];
  const found = await findRun(cli, typed);
  return waitForRun(cli, await cli.client(), found, timeout);
};
