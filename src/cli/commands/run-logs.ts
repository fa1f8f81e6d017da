import { PiWorkflowsError } from "../../model/errors.ts";
import { LIMITS } from "../../model/limits.ts";
import { hasEnded, type RunLogEntry, type StoredRun } from "../../model/run.ts";
import { printable } from "../../model/text.ts";
import type { RunReader } from "../../store/runs.ts";
import type { Cli } from "../invocation.ts";
import { workflowOf } from "../runs/details.ts";
import { findRun } from "../runs/find.ts";
import { shortId } from "../runs/ids.ts";
import { LogLines } from "../runs/log-lines.ts";
import { maskOfRun } from "../runs/secrets.ts";
import type { Documents } from "../schemas/documents.ts";
import { sleep } from "../sleep.ts";
import { IDLE_LOOK_MS } from "../watch.ts";
import type { Action } from "../verb.ts";

type Options = { follow?: boolean; node?: string };

export const run: Action<Options> = async (cli, options, ...args) => {
  const [typed] = args as [string];
  const reader = await cli.reader();
  const found = await findRun(cli, typed);
  const workflow = await workflowOf(reader, found);
  const node = options.node;
  if (node !== undefined && workflow?.digest === found.digest) {
    requireNode(Object.keys(workflow.graph.nodes), node, found.workflow);
  }
  const mask = maskOfRun(found, workflow?.secretPaths ?? []);
  const lines = new LogLines(cli.output.colors);
  let isEmpty = true;
  for await (const entry of entriesOf(cli, reader, found, options.follow === true)) {
    if (node !== undefined && entry.node !== node && !entry.node.startsWith(`${node}/`)) continue;
    isEmpty = false;
    const shown = { ...entry, text: mask(entry.text) } satisfies Documents["run-logs"];
    if (cli.output.format === "json") cli.output.record(shown);
    else for (const line of lines.take(shown)) cli.output.line(line);
  }
  if (cli.output.format !== "json") for (const line of lines.rest()) cli.output.line(line);
  if (isEmpty && !cli.signal.aborted) cli.output.note(nothing(found, node));
};

/** An include's name stands for all of its nodes. */
function requireNode(nodes: readonly string[], node: string, workflow: string): void {
  if (nodes.some((known) => known === node || known.startsWith(`${node}/`))) return;
  throw new PiWorkflowsError("NOT_FOUND", printable(`${workflow} has no node ${node}`), {
    hint: `Its nodes: ${nodes.map(printable).join(", ")}.`,
  });
}

function nothing(run: StoredRun, node: string | undefined): string {
  const who = node === undefined ? `Run ${shortId(run.runId)}` : printable(node);
  return `${who} said nothing${hasEnded(run) ? "" : " yet"}.`;
}

async function* entriesOf(
  cli: Cli,
  reader: RunReader,
  found: StoredRun,
  follow: boolean,
): AsyncGenerator<RunLogEntry> {
  if (!follow) {
    yield* stored(reader, found.runId, 0);
    return;
  }
  const client = await cli.client({ start: false });
  if (client) {
    yield* client.followRunLog(found.runId, 0, cli.signal);
    return;
  }
  if (!hasEnded(found)) cli.output.note("No server is running; showing what is stored.");
  let after = 0;
  while (!cli.signal.aborted) {
    // Read before the log: what a run says last is there when it has ended.
    const now = await reader.run(found.runId);
    for await (const entry of stored(reader, found.runId, after)) {
      after = entry.sequence;
      yield entry;
    }
    if (!now || hasEnded(now)) return;
    await sleep(IDLE_LOOK_MS, cli.signal);
  }
}

async function* stored(
  reader: RunReader,
  runId: string,
  from: number,
): AsyncGenerator<RunLogEntry> {
  for (let after = from; ;) {
    const page = await reader.runLog(runId, { after, limit: LIMITS.page });
    yield* page;
    if (page.length < LIMITS.page) return;
    after = page.at(-1)?.sequence ?? after;
  }
}
