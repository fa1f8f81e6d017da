import type { RunSummary } from "../../model/run.ts";
import type { RunItem } from "../../server/protocol.ts";
import type { RunQuery } from "../../store/runs.ts";
import type { Cli } from "../invocation.ts";
import { sleep } from "../sleep.ts";
import { IDLE_LOOK_MS } from "../watch.ts";
import { watchList, type ListView, type Step } from "../watch-list.ts";
import { everyRun } from "./find.ts";
import { runHeading, runRow, runTable, type RunTableStyle } from "./table.ts";

/** Runs that a table in place shows: more than a terminal has lines would only scroll. */
const SHOWN = 50;

/** Shows runs that match, newest first, and each change, until Ctrl-C. */
export function watchRuns(
  cli: Cli,
  query: RunQuery,
  { projects, all }: { projects: boolean; all: boolean },
): Promise<void> {
  return watchList(cli, changes(cli, query), viewOf(cli, projects, all ? Infinity : SHOWN));
}

async function* changes(cli: Cli, query: RunQuery): AsyncGenerator<Step<RunSummary>> {
  const client = await cli.client({ start: false });
  if (client === undefined) cli.output.note("No server is running; showing what is stored.");
  const items = client ? client.watchRuns(query, cli.signal) : storedChanges(cli, query);
  const known = new Map<string, RunSummary>();
  for await (const item of items) {
    if (item.kind === "listed") yield item;
    else if (item.kind === "present") {
      known.set(item.run.runId, item.run);
      yield { kind: "present", item: item.run };
    } else {
      const run = known.get(item.runId);
      if (run) yield { kind: "removed", item: run };
    }
  }
}

async function* storedChanges(cli: Cli, query: RunQuery): AsyncGenerator<RunItem> {
  const reader = await cli.reader();
  let seen = new Map<string, string>();
  for (let isFirst = true; !cli.signal.aborted; isFirst = false) {
    const now = new Map<string, string>();
    for await (const run of everyRun(reader, query)) {
      now.set(run.runId, JSON.stringify(run));
      if (seen.get(run.runId) !== now.get(run.runId)) yield { kind: "present", run };
    }
    for (const runId of seen.keys()) if (!now.has(runId)) yield { kind: "removed", runId };
    if (isFirst) yield { kind: "listed" };
    seen = now;
    await sleep(IDLE_LOOK_MS, cli.signal);
  }
}

function viewOf({ output }: Cli, projects: boolean, most: number): ListView<RunSummary> {
  const style = (): RunTableStyle => ({
    wide: output.format === "wide",
    projects,
    colors: output.colors,
    now: Date.now(),
  });
  return {
    identityOf: ({ runId }) => runId,
    // Ids begin with the time.
    order: (left, right) => (left.runId < right.runId ? 1 : -1),
    heading: () => runHeading(style()),
    row: (run) => runRow(run, style()),
    table: (runs) => runTable(runs.slice(0, most), style()),
    nothing: "There are no runs.",
    record: ({ kind, item }) =>
      kind === "present" ? { kind, run: item } : { kind, runId: item.runId },
  };
}
