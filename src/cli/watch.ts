import type { ResourceSummary } from "../model/resource.ts";
import type { ListQuery } from "../store/store.ts";
import { listAll } from "./find.ts";
import type { Cli } from "./invocation.ts";
import { sleep } from "./sleep.ts";
import { resourceTable } from "./resource-table.ts";

/** Where no server runs, the database is looked at this often: nothing but a new server changes it. */
const IDLE_LOOK_MS = 1_000;

type Change = { kind: "present" | "removed"; resource: ResourceSummary };

/** Prints resources that match, then each change, until Ctrl-C. */
export async function watchResources(
  cli: Cli,
  query: ListQuery,
  key: string | undefined,
): Promise<void> {
  const print = printerOf(cli, query.project === undefined);
  for await (const change of changes(cli, query)) {
    if (key === undefined || change.resource.metadata.key === key) print(change);
  }
}

async function* changes(cli: Cli, query: ListQuery): AsyncGenerator<Change> {
  const client = await cli.client({ start: false });
  if (client === undefined) {
    cli.output.note("No server is running; showing what is stored.");
    yield* storedChanges(cli, query);
    return;
  }
  for await (const change of client.watch(query, cli.signal)) {
    if (change.kind !== "listed") yield change;
  }
}

async function* storedChanges(cli: Cli, query: ListQuery): AsyncGenerator<Change> {
  let seen = new Map<string, ResourceSummary>();
  while (!cli.signal.aborted) {
    const reader = await cli.reader();
    const items = await listAll(reader, query);
    const now = new Map(items.map((item) => [item.metadata.uid, item]));
    for (const [uid, resource] of now) {
      const before = seen.get(uid);
      if (before?.metadata.resourceVersion !== resource.metadata.resourceVersion) {
        yield { kind: "present", resource };
      }
    }
    for (const [uid, resource] of seen) if (!now.has(uid)) yield { kind: "removed", resource };
    seen = now;
    await sleep(IDLE_LOOK_MS, cli.signal);
  }
}

function printerOf(cli: Cli, projects: boolean): (change: Change) => void {
  const { output } = cli;
  let heading = true;
  return ({ kind, resource }) => {
    if (output.format === "json") return output.record({ kind, resource });
    const { resourceManager, key } = resource.metadata;
    if (output.format === "name") return output.line(`${resourceManager}/${key}`);
    const table = resourceTable([resource], {
      wide: output.format === "wide",
      projects,
      colors: output.colors,
      now: Date.now(),
    });
    const [titles = "", row = ""] = table.split("\n");
    if (heading) output.line(titles);
    heading = false;
    output.line(kind === "removed" ? `${row}  ${output.colors.red("(removed)")}` : row);
  };
}
