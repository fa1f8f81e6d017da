import { changeRun, nameOf } from "../runs/change.ts";
import type { Action } from "../verb.ts";

export const run: Action<object> = (cli, _options, ...args) => {
  const [typed] = args as [string];
  return changeRun(
    cli,
    typed,
    (client, { runId }) => client.resumeRun(runId),
    (after, before) => {
      const code = before.reason === "DefinitionChanged" ? " with the code that it began with" : "";
      return `${nameOf(after)} goes on${code}`;
    },
  );
};
