import type { Cli } from "../invocation.ts";
import type { Documents } from "../schemas/documents.ts";
import { createScreen } from "../screen.ts";
import { sleep } from "../sleep.ts";
import { describeSync, exitCodeOf, type ShownSync } from "../sync-text.ts";
import type { Action } from "../verb.ts";

type Options = { allProjects?: boolean; watch?: boolean };

/** Where no server runs, nothing changes but by one that starts. */
const IDLE_LOOK_MS = 1_000;

export const run: Action<Options> = async (cli, options) => {
  const project = options.allProjects ? undefined : cli.project;
  if (options.watch) return watch(cli, project);
  const client = await cli.client({ start: false });
  const syncs = client ? await client.syncStatus(project) : await stored(cli, project);
  if (syncs.length === 0) cli.output.note(NOT_ENABLED);
  else if (!client) cli.output.note("No server is running, so nothing is synced until one starts.");
  cli.output.result({ syncs } satisfies Documents["sync-status"], () => describeAll(cli, syncs));
  return worst(syncs);
};

const NOT_ENABLED = "Sync is not enabled here; `pi-workflows sync enable` turns it on.";

async function stored(cli: Cli, project: string | undefined): Promise<ShownSync[]> {
  return (await cli.reader()).syncSets(project);
}

function describeAll(cli: Cli, syncs: readonly ShownSync[]): string {
  const paint = { colors: cli.output.colors, now: Date.now() };
  return syncs.map((sync) => describeSync(sync, paint)).join("\n\n");
}

// A prune that waits matters more than a set that is not in step.
function worst(syncs: readonly ShownSync[]): number {
  return Math.max(0, ...syncs.map(exitCodeOf));
}

async function watch(cli: Cli, project: string | undefined): Promise<void> {
  const screen = createScreen(cli.output);
  const show = (syncs: ShownSync[]) => {
    if (cli.output.format === "json")
      cli.output.record({ syncs } satisfies Documents["sync-status-watch"]);
    else screen.show(syncs.length === 0 ? NOT_ENABLED : describeAll(cli, syncs));
  };
  const client = await cli.client({ start: false });
  if (client === undefined) {
    while (!cli.signal.aborted) {
      show(await stored(cli, project));
      await sleep(IDLE_LOOK_MS, cli.signal);
    }
    return;
  }
  const known = new Map<string, ShownSync>();
  let listed = false;
  const query = project === undefined ? {} : { project };
  for await (const item of client.syncWatch(query, cli.signal)) {
    if (item.kind === "present") known.set(item.status.set.project, item.status);
    if (item.kind === "removed") known.delete(item.project);
    listed ||= item.kind === "listed";
    if (listed) show([...known.values()]);
  }
}
