import type { Json } from "../../../model/canonical.ts";
import { PiWorkflowsError } from "../../../model/errors.ts";
import { byteLength, LIMITS } from "../../../model/limits.ts";
import type { AttemptRef, JournalEntry, JournalInput } from "../../../model/run.ts";
import type { AwaitedLine, JournalQuery } from "../../runs.ts";
import type { Claim } from "../../store.ts";
import { leaseLost } from "../errors.ts";
import type { Transaction } from "../transaction.ts";
import { keepQuestion } from "./questions.ts";
import type { Reader } from "./run-row.ts";

/** What writing on behalf of a run's pass needs to know of it. */
export type ClaimedRun = {
  id: number;
  epochs: number;
  entries: number;
  log_entries: number;
  log_bytes: number;
  log_head: number;
  crash_attempts: number;
};

/** The run if `claim` still holds it (F-1). @throws LEASE_LOST */
export function claimedRun(tx: Transaction, claim: Claim): ClaimedRun {
  const row = tx.get<ClaimedRun>(
    `SELECT u.resource_id AS id, u.epochs, u.entries, u.log_entries, u.log_bytes, u.log_head,
       q.crash_attempts
     FROM resource r JOIN queue q ON q.resource_id = r.id JOIN run u ON u.resource_id = r.id
     WHERE r.uid = ? AND q.claim_token = ? AND q.claim_generation = ?`,
    claim.uid,
    claim.token,
    claim.generation,
  );
  if (row === undefined) throw leaseLost(claim.uid);
  return row;
}

/**
 * Appends lines at the end of a run's journal: no earlier line is read or written, so that one costs
 * the same at the end of a long run. The end of an attempt is progress: crashes before it no longer
 * count. @throws LEASE_LOST, TOO_LARGE
 */
export function appendJournal(
  tx: Transaction,
  claim: Claim,
  entries: readonly JournalInput[],
): void {
  const run = claimedRun(tx, claim);
  if (entries.length === 0) return;
  let sequence = run.entries;
  for (const entry of entries) {
    sequence += 1;
    insertLine(tx, run, { sequence, entry });
    if ("visit" in entry) keepQuestion(tx, run.id, entry);
    else if (entry.event === "cancel") takeCancel(tx, run.id);
  }
  tx.run("UPDATE run SET entries = ? WHERE resource_id = ?", sequence, run.id);
  if (run.crash_attempts > 0 && entries.some(isProgress)) {
    tx.run("UPDATE queue SET crash_attempts = 0 WHERE resource_id = ?", run.id);
  }
}

// A recovery and the attempt that it begins again are written after every crash, so they are none.
function isProgress({ event }: JournalInput): boolean {
  return event === "succeeded" || event === "failed";
}

function takeCancel(tx: Transaction, id: number): void {
  tx.run("UPDATE run SET cancel_taken = 1 WHERE resource_id = ?", id);
}

function insertLine(
  tx: Transaction,
  run: ClaimedRun,
  { sequence, entry }: { sequence: number; entry: JournalInput },
): void {
  const { at, event, visit, node, attempt, compensation, kind, startedAt, input, output, ...rest } =
    entry as JournalInput & Partial<AttemptRef> & LineValues;
  const inputText = textOf(input);
  const outputText = textOf(output);
  const detail = JSON.stringify(rest);
  const bytes = Math.max(byteLength(inputText ?? ""), byteLength(outputText ?? ""));
  if (bytes > LIMITS.nodeOutput || byteLength(detail) > LIMITS.nodeOutput) throw tooLarge(node);
  tx.run(
    `INSERT INTO journal (resource_id, sequence, epoch, at, event, visit, node, attempt, compensation,
       kind, started_at, detail, input, output)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    run.id,
    sequence,
    run.epochs,
    at,
    event,
    visit ?? null,
    node ?? null,
    attempt ?? null,
    compensation === true ? 1 : 0,
    kind ?? null,
    startedAt ?? null,
    detail === "{}" ? null : detail,
    inputText,
    outputText,
  );
}

type LineValues = { kind?: string; startedAt?: number; input?: Json; output?: Json };

function textOf(value: Json | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value);
}

function tooLarge(node: string | undefined): PiWorkflowsError {
  return new PiWorkflowsError(
    "TOO_LARGE",
    `a value of node ${node ?? "?"} has more than ${LIMITS.nodeOutput} bytes`,
    { hint: "Hand over a path or a key, and keep the data where it belongs." },
  );
}

type LineRow = {
  sequence: number;
  epoch: number;
  at: number;
  event: JournalEntry["event"];
  visit: number | null;
  node: string | null;
  attempt: number | null;
  compensation: 0 | 1;
  kind: string | null;
  started_at: number | null;
  detail: string | null;
  input: string | null;
  output: string | null;
};

const LINE_COLUMNS =
  "sequence, epoch, at, event, visit, node, attempt, compensation, kind, started_at, detail";

/** Bytes of values in one page, so that it can be sent whole. */
const PAGE_BYTES = LIMITS.journalInFlight;

/**
 * Lines after `after`, oldest first. With their values a page may end before `limit`, where they are
 * large: the end of the journal is an empty page, or one with the run's last line.
 */
export function readJournal(reader: Reader, runId: string, query: JournalQuery): JournalEntry[] {
  const { after = 0, limit = LIMITS.page, bodies = true } = query;
  const id = idOf(reader, runId);
  if (id === undefined) return [];
  const last = bodies ? lastInPage(reader, { id, after, limit }) : Number.MAX_SAFE_INTEGER;
  return reader
    .all<LineRow>(
      `SELECT ${LINE_COLUMNS}, ${bodies ? "input, output" : "NULL AS input, NULL AS output"}
       FROM journal WHERE resource_id = ? AND sequence > ? AND sequence <= ?
       ORDER BY sequence LIMIT ?`,
      id,
      after,
      last,
      limit,
    )
    .map(toEntry);
}

/** The lines since which a run waits for a person, oldest first. */
export function readAwaited(reader: Reader, runId: string): AwaitedLine[] {
  const id = idOf(reader, runId);
  if (id === undefined) return [];
  return reader
    .all<LineRow>(
      `SELECT ${LINE_COLUMNS}, input, output FROM journal
       WHERE resource_id = ? AND sequence IN (SELECT
         (SELECT line.sequence FROM journal line WHERE line.resource_id = asked.resource_id
            AND line.visit = asked.visit
            AND line.event = CASE asked.about WHEN 'checkpoint' THEN 'begun' ELSE 'ambiguous' END
          ORDER BY line.sequence DESC LIMIT 1)
         FROM question asked WHERE asked.resource_id = ? AND asked.open = 1)
       ORDER BY sequence`,
      id,
      id,
    )
    .map((row) => toEntry(row) as AwaitedLine);
}

function idOf(reader: Reader, runId: string): number | undefined {
  return reader.get<{ id: number }>("SELECT id FROM resource WHERE uid = ?", runId)?.id;
}

function lastInPage(
  reader: Reader,
  { id, after, limit }: { id: number; after: number; limit: number },
): number {
  const sizes = reader.all<{ sequence: number; bytes: number }>(
    `SELECT sequence, ifnull(octet_length(input), 0) + ifnull(octet_length(output), 0) AS bytes
     FROM journal WHERE resource_id = ? AND sequence > ? ORDER BY sequence LIMIT ?`,
    id,
    after,
    limit,
  );
  let bytes = 0;
  const past = sizes.findIndex((line, index) => (bytes += line.bytes) > PAGE_BYTES && index > 0);
  return (past === -1 ? sizes.at(-1) : sizes[past - 1])?.sequence ?? after;
}

function toEntry(row: LineRow): JournalEntry {
  return {
    sequence: row.sequence,
    epoch: row.epoch,
    at: row.at,
    event: row.event,
    ...(row.visit === null ? {} : { visit: row.visit, node: row.node, attempt: row.attempt }),
    ...(row.compensation === 1 ? { compensation: true } : {}),
    ...(row.kind === null ? {} : { kind: row.kind }),
    ...(row.started_at === null ? {} : { startedAt: row.started_at }),
    ...(row.input === null ? {} : { input: JSON.parse(row.input) as Json }),
    ...(row.output === null ? {} : { output: JSON.parse(row.output) as Json }),
    ...(row.detail === null ? {} : (JSON.parse(row.detail) as object)),
  } as JournalEntry;
}
