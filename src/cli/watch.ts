import type { ResourceSummary } from "../model/resource.ts";
import type { ListQuery } from "../store/store.ts";
import { listAll } from "./find.ts";
import type { Cli } from "./invocation.ts";
import { resourceHeading, resourceRow, resourceTable, type TableStyle } from "./resource-table.ts";
import { sleep } from "./sleep.ts";
import { watchList, type ListView, type Step } from "./watch-list.ts";

/** Where no server runs, the database is looked at this often: nothing but a new server changes it. */
export const IDLE_LOOK_MS = 1_000;

/** Shows resources that match, and each change, until Ctrl-C. */
export function watchResources(cli: Cli, query: ListQuery, key: string | undefined): Promise<void> {
  return watchList(cli, withKey(changes(cli, query), key), viewOf(cli, query));
}

async function* withKey(
  steps: AsyncIterable<Step<ResourceSummary>>,
  key: string | undefined,
): AsyncGenerator<Step<ResourceSummary>> {
  for await (const step of steps) {
    if (step.kind === "listed" || key === undefined || step.item.metadata.key === key) yield step;
  }
}

async function* changes(cli: Cli, query: ListQuery): AsyncGenerator<Step<ResourceSummary>> {
  const client = await cli.client({ start: false });
  if (client === undefined) {
    cli.output.note("No server is running; showing what is stored.");
    yield* storedChanges(cli, query);
    return;
  }
  for await (const step of client.watch(query, cli.signal)) {
    yield step.kind === "listed" ? step : { kind: step.kind, item: step.resource };
  }
}

async function* storedChanges(cli: Cli, query: ListQuery): AsyncGenerator<Step<ResourceSummary>> {
  const reader = await cli.reader();
  let seen = new Map<string, ResourceSummary>();
  for (let isFirst = true; !cli.signal.aborted; isFirst = false) {
    const items = await listAll(reader, query);
    const now = new Map(items.map((item) => [item.metadata.uid, item]));
    for (const [uid, item] of now) {
      const before = seen.get(uid);
      if (before?.metadata.resourceVersion !== item.metadata.resourceVersion) {
        yield { kind: "present", item };
      }
    }
    for (const [uid, item] of seen) if (!now.has(uid)) yield { kind: "removed", item };
    if (isFirst) yield { kind: "listed" };
    seen = now;
    await sleep(IDLE_LOOK_MS, cli.signal);
  }
}

function viewOf({ output }: Cli, query: ListQuery): ListView<ResourceSummary> {
  const style = (): TableStyle => ({
    wide: output.format === "wide",
    projects: query.project === undefined,
    colors: output.colors,
    now: Date.now(),
  });
  return {
    identityOf: ({ metadata }) => metadata.uid,
    order: (left, right) => (sortKey(left) < sortKey(right) ? -1 : 1),
    heading: () => resourceHeading(style()),
    row: (item) => resourceRow(item, style()),
    table: (items) => resourceTable(items, style()),
    nothing: "There are no resources.",
    record: ({ kind, item }) => ({ kind, resource: item }),
    name: ({ metadata }) => `${metadata.resourceManager}/${metadata.key}`,
  };
}

function sortKey({ project, metadata }: ResourceSummary): string {
  return [project, metadata.resourceManager, metadata.key].join("\0");
}
