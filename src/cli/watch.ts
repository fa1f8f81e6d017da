import type { ResourceSummary } from "../model/resource.ts";
import type { WatchItem } from "../server/protocol.ts";
import type { ListQuery } from "../store/store.ts";
import { Alignment } from "./columns.ts";
import { listAll } from "./find.ts";
import type { Cli } from "./invocation.ts";
import { resourceHeading, resourceRow, resourceTable, type TableStyle } from "./resource-table.ts";
import { createScreen } from "./screen.ts";
import { sleep } from "./sleep.ts";

/** Where no server runs, the database is looked at this often: nothing but a new server changes it. */
const IDLE_LOOK_MS = 1_000;

type Change = Exclude<WatchItem, { kind: "listed" }>;

/**
 * Shows resources that match until Ctrl-C: on a terminal as a table that is redrawn in place, else
 * as lines, each change when it comes.
 */
export async function watchResources(
  cli: Cli,
  query: ListQuery,
  key: string | undefined,
): Promise<void> {
  const print = printerOf(cli, query.project === undefined);
  let listing: Change[] | undefined = [];
  for await (const item of changes(cli, query)) {
    if (item.kind === "listed") {
      print(listing ?? []);
      listing = undefined;
    } else if (key === undefined || item.resource.metadata.key === key) {
      if (listing) listing.push(item);
      else print([item]);
    }
  }
}

async function* changes(cli: Cli, query: ListQuery): AsyncGenerator<WatchItem> {
  const client = await cli.client({ start: false });
  if (client !== undefined) {
    yield* client.watch(query, cli.signal);
    return;
  }
  cli.output.note("No server is running; showing what is stored.");
  yield* storedChanges(cli, query);
}

async function* storedChanges(cli: Cli, query: ListQuery): AsyncGenerator<WatchItem> {
  const reader = await cli.reader();
  let seen = new Map<string, ResourceSummary>();
  for (let isFirst = true; !cli.signal.aborted; isFirst = false) {
    const items = await listAll(reader, query);
    const now = new Map(items.map((item) => [item.metadata.uid, item]));
    for (const [uid, resource] of now) {
      const before = seen.get(uid);
      if (before?.metadata.resourceVersion !== resource.metadata.resourceVersion) {
        yield { kind: "present", resource };
      }
    }
    for (const [uid, resource] of seen) if (!now.has(uid)) yield { kind: "removed", resource };
    if (isFirst) yield { kind: "listed" };
    seen = now;
    await sleep(IDLE_LOOK_MS, cli.signal);
  }
}

type Printer = (changes: readonly Change[]) => void;

function printerOf(cli: Cli, projects: boolean): Printer {
  const { output } = cli;
  if (output.format === "json") return (items) => items.forEach((item) => output.record(item));
  if (output.format === "name") {
    return (items) => {
      for (const { metadata } of items.map(({ resource }) => resource)) {
        output.line(`${metadata.resourceManager}/${metadata.key}`);
      }
    };
  }
  const style = (): TableStyle => ({
    wide: output.format === "wide",
    projects,
    colors: output.colors,
    now: Date.now(),
  });
  return output.width === undefined ? linesPrinter(cli, style) : tablePrinter(cli, style);
}

function tablePrinter({ output }: Cli, style: () => TableStyle): Printer {
  const screen = createScreen(output);
  const present = new Map<string, ResourceSummary>();
  return (items) => {
    for (const { kind, resource } of items) {
      if (kind === "present") present.set(resource.metadata.uid, resource);
      else present.delete(resource.metadata.uid);
    }
    const rows = [...present.values()].sort(byIdentity);
    screen.show(rows.length === 0 ? "There are no resources." : resourceTable(rows, style()));
  };
}

function byIdentity(left: ResourceSummary, right: ResourceSummary): number {
  const nameOf = ({ project, metadata }: ResourceSummary) =>
    [project, metadata.resourceManager, metadata.key].join("\0");
  return nameOf(left) < nameOf(right) ? -1 : 1;
}

function linesPrinter({ output }: Cli, style: () => TableStyle): Printer {
  const alignment = new Alignment();
  let hasHeading = false;
  return (items) => {
    const rows = items.map((item) => rowOf(item, style()));
    for (const row of rows) alignment.fit(row);
    if (!hasHeading) output.line(alignment.line(resourceHeading(style()).map(output.colors.bold)));
    hasHeading = true;
    for (const row of rows) output.line(alignment.line(row));
  };
}

function rowOf({ kind, resource }: Change, style: TableStyle): string[] {
  const row = resourceRow(resource, style);
  return kind === "removed" ? [...row, style.colors.red("removed")] : row;
}
