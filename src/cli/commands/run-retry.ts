import type { StoredRun } from "../../model/run.ts";
import type { Client } from "../../server/protocol.ts";
import type { Cli } from "../invocation.ts";
import { changeRun, nameOf } from "../runs/change.ts";
import { shortId } from "../runs/ids.ts";
import type { Action } from "../verb.ts";
import { loadWorkflow } from "../workflows/load.ts";

export const run: Action<object> = (cli, _options, ...args) => {
  const [typed] = args as [string];
  return changeRun(
    cli,
    typed,
    async (client, before) => {
      if (before.state === "failed") await acceptToday(cli, client, before);
      return client.retryRun(before.runId);
    },
    (after, before) =>
      `${nameOf(after)} started: attempt ${after.attempt}, after ${shortId(before.runId)}`,
  );
};

/** Today's code is the files', or where a sync follows a branch, that of its commits. */
async function acceptToday(cli: Cli, client: Client, run: StoredRun): Promise<void> {
  const { project, workflow } = run;
  const [sync] = await (await cli.reader()).syncSets(project);
  if (sync?.set.source.kind === "committed") return;
  await client.acceptWorkflows(project, [await loadWorkflow({ ...cli, project }, workflow)]);
}
