import { changeRun, nameOf } from "../runs/change.ts";
import { shortId } from "../runs/ids.ts";
import type { Action } from "../verb.ts";

export const run: Action<object> = (cli, _options, ...args) => {
  const [typed] = args as [string];
  return changeRun(
    cli,
    typed,
    (client, { runId }) => client.pauseRun(runId),
    (after, before) => {
      if (before.paused) return `${nameOf(after)} is paused already`;
      const first = after.claimedAt === undefined ? "" : "; the nodes that run now end first";
      return `${nameOf(after)} is paused${first}. \`pi-workflows run resume ${shortId(after.runId)}\` lets it go on.`;
    },
  );
};
