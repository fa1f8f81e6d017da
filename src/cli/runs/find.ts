import { PiWorkflowsError } from "../../model/errors.ts";
import type { RunSummary, StoredRun } from "../../model/run.ts";
import { printable } from "../../model/text.ts";
import type { RunQuery, RunReader } from "../../store/runs.ts";
import type { Cli } from "../invocation.ts";
import { age } from "../time.ts";
import { shortId } from "./ids.ts";

/** Fewer characters are rather a typing error than an id. */
const FEWEST = 4;
const CANDIDATES_SHOWN = 5;

/**
 * The run that a person named by its id, or by a beginning or end of it that no other has: of this
 * project, or else of any.
 * @throws PiWorkflowsError NOT_FOUND, USAGE where it is no id or that of several
 */
export async function findRun(cli: Cli, typed: string): Promise<StoredRun> {
  const reader = await cli.reader();
  const id = typed.toLowerCase();
  if (!/^[\da-f-]+$/.test(id) || id.length < FEWEST) throw noId(typed);
  const whole = await reader.run(id);
  if (whole) return whole;
  const found =
    (await onlyOne(reader, id, { project: cli.project })) ?? (await onlyOne(reader, id, {}));
  const stored = found && (await reader.run(found.runId));
  if (stored) return stored;
  throw await noSuch(cli, reader, typed);
}

async function onlyOne(
  reader: RunReader,
  id: string,
  scope: RunQuery,
): Promise<RunSummary | undefined> {
  const beginning = await reader.runs({ ...scope, prefix: id, limit: CANDIDATES_SHOWN });
  const found = beginning.items.length > 0 ? beginning.items : await endingWith(reader, id, scope);
  if (found.length > 1) throw ambiguous(id, found);
  return found[0];
}

/** As lists show it, or a beginning of that; or any other end. */
async function endingWith(reader: RunReader, id: string, scope: RunQuery): Promise<RunSummary[]> {
  const found: RunSummary[] = [];
  for await (const run of everyRun(reader, scope)) {
    if (run.runId.endsWith(id) || shortId(run.runId).startsWith(id)) found.push(run);
    if (found.length === CANDIDATES_SHOWN) break;
  }
  return found;
}

/** Every run that matches, newest first, read page by page. */
export async function* everyRun(reader: RunReader, query: RunQuery): AsyncGenerator<RunSummary> {
  let after: string | undefined;
  do {
    const page = await reader.runs(after === undefined ? query : { ...query, after });
    yield* page.items;
    after = page.next;
  } while (after !== undefined);
}

function noId(typed: string): PiWorkflowsError {
  return new PiWorkflowsError("USAGE", `${JSON.stringify(typed)} is no id of a run`, {
    hint: `Give the id that \`pi-workflows runs\` shows, or ${FEWEST} or more characters of its beginning or end.`,
  });
}

function ambiguous(typed: string, found: readonly RunSummary[]): PiWorkflowsError {
  const now = Date.now();
  const candidates = found.map(
    ({ runId, workflow, state, createdAt }) =>
      `${runId} (${printable(workflow)}, ${state}, ${age(now - createdAt)} old)`,
  );
  return new PiWorkflowsError("USAGE", `several runs are ${typed}`, {
    hint: `Type more of it: ${candidates.join(", ")}.`,
  });
}

async function noSuch(cli: Cli, reader: RunReader, typed: string): Promise<PiWorkflowsError> {
  const { items } = await reader.runs({ project: cli.project, limit: CANDIDATES_SHOWN });
  const newest = items.map(({ runId, workflow }) => `${shortId(runId)} (${printable(workflow)})`);
  return new PiWorkflowsError("NOT_FOUND", `there is no run ${typed}`, {
    hint:
      newest.length === 0
        ? "No workflow was run in this project yet: `pi-workflows run start NAME`."
        : `The newest here: ${newest.join(", ")}. List all with \`pi-workflows runs --all\`.`,
  });
}
