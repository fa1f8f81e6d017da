import { PiWorkflowsError } from "../../model/errors.ts";
import type { ResourceEvent } from "../../model/event.ts";
import type { EventQuery, StoreReader } from "../../store/store.ts";
import { columns } from "../columns.ts";
import type { Cli } from "../invocation.ts";
import type { Documents } from "../schemas/documents.ts";
import { sleep } from "../sleep.ts";
import { eventRow } from "../tables.ts";
import type { Action } from "../verb.ts";

type Options = { for?: string; limit?: number; allProjects?: boolean; follow?: boolean };

const DEFAULT_LIMIT = 100;
const PAGE = 10_000;
/** Where no server runs, the database is looked at this often: nothing but a new server changes it. */
const IDLE_LOOK_MS = 1_000;

export const run: Action<Options> = async (cli, options, manager, key) => {
  const reader = await cli.reader();
  const only = targetOf(options, manager, key);
  const query = await queryOf(cli, reader, { ...only, all: options.allProjects === true });
  const matches = (event: ResourceEvent) =>
    (only.manager === undefined || event.resourceManager === only.manager) &&
    (only.key === undefined || event.key === only.key);
  const limit = options.limit ?? DEFAULT_LIMIT;
  const latest = await latestEvents(reader, { ...query, limit }, matches);
  const resource = only.key === undefined;
  if (!options.follow) {
    if (latest.length === 0) cli.output.note("Nothing happened yet.");
    return cli.output.result({ events: latest } satisfies Documents["events"], () =>
      lines(cli, latest, resource),
    );
  }
  if (cli.output.format === "json") for (const event of latest) cli.output.record(event);
  else if (latest.length > 0) cli.output.line(lines(cli, latest, resource));
  const after = latest.at(-1)?.sequence ?? 0;
  for await (const event of following(cli, { ...query, after })) {
    if (!matches(event)) continue;
    if (cli.output.format === "json") cli.output.record(event);
    else cli.output.line(lines(cli, [event], resource));
  }
};

function targetOf(
  options: Options,
  manager: string | undefined,
  key: string | undefined,
): { manager: string | undefined; key: string | undefined } {
  if (options.for === undefined) return { manager, key };
  const split = options.for.indexOf("/");
  if (split < 1 || split === options.for.length - 1 || manager !== undefined) {
    throw new PiWorkflowsError("USAGE", `--for ${options.for} does not name one resource`, {
      hint: "Write --for MANAGER/KEY, or give MANAGER and KEY as arguments.",
    });
  }
  return { manager: options.for.slice(0, split), key: options.for.slice(split + 1) };
}

async function queryOf(
  cli: Cli,
  reader: StoreReader,
  target: { manager: string | undefined; key: string | undefined; all: boolean },
): Promise<EventQuery> {
  if (target.manager !== undefined && target.key !== undefined) {
    const ref = { project: cli.project, resourceManager: target.manager, key: target.key };
    const stored = await reader.get(ref);
    // Events outlive their resource, so one that is gone is looked for by name.
    return stored ? { uid: stored.resource.metadata.uid } : { project: cli.project };
  }
  return target.all ? {} : { project: cli.project };
}

/** The newest that match, oldest first. */
async function latestEvents(
  reader: StoreReader,
  query: EventQuery & { limit: number },
  matches: (event: ResourceEvent) => boolean,
): Promise<ResourceEvent[]> {
  // Matching happens here, so what is read must be more than what is wanted.
  const limit = Math.max(query.limit, PAGE);
  const newest = await reader.events({ ...query, limit, newestFirst: true });
  return newest.filter(matches).slice(0, query.limit).reverse();
}

async function* following(cli: Cli, query: EventQuery): AsyncGenerator<ResourceEvent> {
  const client = await cli.client({ start: false });
  if (client !== undefined) {
    yield* client.events(query, cli.signal);
    return;
  }
  cli.output.note("No server is running; showing what is stored.");
  let after = query.after ?? 0;
  while (!cli.signal.aborted) {
    const reader = await cli.reader();
    for (const event of await reader.events({ ...query, after, limit: PAGE })) {
      after = event.sequence;
      yield event;
    }
    await sleep(IDLE_LOOK_MS, cli.signal);
  }
}

function lines(cli: Cli, events: ResourceEvent[], resource: boolean): string {
  return columns(events.map((event) => eventRow(event, { colors: cli.output.colors, resource })));
}
