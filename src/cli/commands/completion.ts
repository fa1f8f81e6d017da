import { SCRIPTS } from "../completion.ts";
import type { Action } from "../verb.ts";

export const run: Action<object> = (cli, _options, shell) => {
  cli.output.line((SCRIPTS[shell] as string).trimEnd());
  return Promise.resolve();
};
