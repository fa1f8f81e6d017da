import { LIMITS } from "../../model/limits.ts";
import { confirm } from "../confirm.ts";
import type { Documents } from "../schemas/documents.ts";
import type { Action } from "../verb.ts";

type Options = { dryRun?: boolean; olderThan?: number; yes?: boolean };

export const run: Action<Options> = async (cli, options) => {
  const { dryRun = false, olderThan: olderThanMs = LIMITS.removedKeptMs, yes = false } = options;
  const client = await cli.client();
  const found = await client.pruneHistory({ olderThanMs, dryRun: true });
  const what = `${found.resources} removed resources and ${found.runs} ended runs`;
  const isAny = found.resources + found.runs > 0;
  if (isAny && !dryRun) await confirm(cli, `Delete the history of ${what}`, yes);
  const pruned = dryRun ? found : await client.pruneHistory({ olderThanMs });
  cli.output.result({ ...pruned, dryRun } satisfies Documents["prune-history"], () =>
    isAny
      ? `the history of ${what} ${dryRun ? "would be deleted" : "was deleted"}`
      : "no history is that old",
  );
};
