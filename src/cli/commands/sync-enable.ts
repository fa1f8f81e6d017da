import type { SyncEnable } from "../../server/protocol.ts";
import type { DeleteBound } from "../flags.ts";
import { guardOf } from "../plan-specs.ts";
import { describeSync } from "../sync-text.ts";
import type { Action } from "../verb.ts";

type Options = {
  branch?: string;
  root?: string[];
  workingTree?: boolean;
  prune?: boolean;
  maxDeletes?: DeleteBound;
  worktree?: string;
};

export const run: Action<Options> = async (cli, options) => {
  const client = await cli.client();
  await client.syncEnable(requestOf(cli.project, options));
  // The first sync says at once whether the specs that are there can be used.
  const status = await client.syncNow(cli.project);
  // What it was doing when it answered says nothing about what comes next.
  const { activity: _activity, ...reported } = status;
  cli.output.result(status, () =>
    [
      describeSync(reported, { colors: cli.output.colors, now: Date.now() }),
      "",
      "From now on it follows by itself; see `pi-workflows sync status`.",
    ].join("\n"),
  );
};

function requestOf(project: string, options: Options): SyncEnable {
  const { branch, root, workingTree, prune, maxDeletes, worktree } = options;
  return {
    project,
    ...(branch === undefined ? {} : { branch }),
    ...(root === undefined ? {} : { roots: root }),
    ...(workingTree ? { workingTree } : {}),
    ...(prune === false ? { prune } : {}),
    ...(maxDeletes === undefined ? {} : { guard: guardOf(maxDeletes) }),
    ...(worktree === undefined ? {} : { worktree }),
  };
}
