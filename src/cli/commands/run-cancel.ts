import { hasEnded } from "../../model/run.ts";
import { changeRun, nameOf } from "../runs/change.ts";
import { shortId } from "../runs/ids.ts";
import type { Action } from "../verb.ts";

export const run: Action<object> = (cli, _options, ...args) => {
  const [typed] = args as [string];
  return changeRun(
    cli,
    typed,
    (client, { runId }) => client.cancelRun(runId),
    (after) =>
      hasEnded(after)
        ? `${nameOf(after)} is cancelled`
        : `${nameOf(after)} is being cancelled: what runs is stopped, and what can be undone is undone. ` +
          `\`pi-workflows run wait ${shortId(after.runId)}\` waits for it.`,
  );
};
