import { PiWorkflowsError } from "../../model/errors.ts";
import type { Client, SyncEnable, SyncStatus } from "../../server/protocol.ts";
import type { DeleteBound } from "../flags.ts";
import type { Cli } from "../invocation.ts";
import { guardOf } from "../plan-specs.ts";
import { describeSync, exitCodeOf } from "../sync-text.ts";
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
  const since = Date.now();
  await client.syncEnable(requestOf(cli.project, options));
  const status = await firstReport(cli, client, since);
  // What it was doing when it answered says nothing about what comes next.
  const { activity: _activity, ...reported } = status;
  const code = exitCodeOf(status);
  cli.output.result(status, () =>
    [
      describeSync(reported, { colors: cli.output.colors, now: Date.now() }),
      "",
      code === 0 ? FOLLOWS : NOT_YET,
    ].join("\n"),
  );
  return code;
};

const FOLLOWS = "From now on it follows by itself; see `pi-workflows sync status`.";
const NOT_YET =
  "It is enabled, and not in step yet: mend what is named above, and it follows by itself.";

/** How long the first sync may take before what is known is shown. */
const FIRST_SYNC_MS = 60_000;

/** The first sync says whether the specs that are there can be used. */
async function firstReport(cli: Cli, client: Client, since: number): Promise<SyncStatus> {
  const { project } = cli;
  const over = new AbortController();
  // Not AbortSignal.timeout: inside AbortSignal.any it can be collected before it fires.
  const timer = setTimeout(() => over.abort(), FIRST_SYNC_MS);
  try {
    const enough = AbortSignal.any([cli.signal, over.signal]);
    for await (const item of client.syncWatch({ project }, enough)) {
      if (item.kind === "present" && isAtRest(item.status, since)) return item.status;
    }
  } finally {
    clearTimeout(timer);
    over.abort();
  }
  const [status] = await client.syncStatus(project);
  if (status) return status;
  throw new PiWorkflowsError("NOT_FOUND", `sync of ${project} was disabled meanwhile`);
}

function isAtRest({ activity, report }: SyncStatus, since: number): boolean {
  const rests = activity.state === "waiting" || activity.state === "retrying";
  return rests && activity.since >= since && report.conditions.length > 0;
}

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
