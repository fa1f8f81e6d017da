import { byteLength, LIMITS, truncate } from "../../../model/limits.ts";
import { redactText } from "../../../model/redact.ts";
import type { RunLogEntry, RunLogInput } from "../../../model/run.ts";
import type { Claim } from "../../store.ts";
import type { Transaction } from "../transaction.ts";
import { claimedRun, type ClaimedRun } from "./journal.ts";
import type { Reader } from "./run-row.ts";

/** The beginning of a log tells what was begun with: so much of it is never dropped. */
const HEAD_BYTES = LIMITS.runLog / 8;
/** What is dropped at once where a log is full, so that it is not done at every line. */
const DROPPED_BYTES = LIMITS.runLog / 8;
const LONGEST_TEXT = 64 * 1024;

/**
 * Appends to a run's log, redacted, and drops the oldest past LIMITS.runLog but for its head; what
 * is missing shows as a gap in the sequence. @throws LEASE_LOST
 */
export function appendRunLog(tx: Transaction, claim: Claim, entries: readonly RunLogInput[]): void {
  const run = claimedRun(tx, claim);
  if (entries.length === 0) return;
  for (const entry of entries) {
    const text = truncate(redactText(entry.text), LONGEST_TEXT);
    run.log_entries += 1;
    run.log_bytes += byteLength(text);
    if (run.log_bytes <= HEAD_BYTES) run.log_head = run.log_entries;
    insertText(tx, run, { ...entry, text });
  }
  if (run.log_bytes > LIMITS.runLog) run.log_bytes -= dropOldest(tx, run);
  tx.run(
    "UPDATE run SET log_entries = ?, log_bytes = ?, log_head = ? WHERE resource_id = ?",
    run.log_entries,
    run.log_bytes,
    run.log_head,
    run.id,
  );
}

function insertText(tx: Transaction, run: ClaimedRun, entry: RunLogInput): void {
  tx.run(
    `INSERT INTO run_log (resource_id, sequence, at, visit, node, stream, text)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    run.id,
    run.log_entries,
    entry.at,
    entry.visit,
    entry.node,
    entry.stream,
    entry.text,
  );
}

/** Returns how many bytes went. */
function dropOldest(tx: Transaction, run: ClaimedRun): number {
  const wanted = run.log_bytes - LIMITS.runLog + DROPPED_BYTES;
  let dropped = 0;
  for (let last = run.log_head; dropped < wanted;) {
    const page = tx.all<{ sequence: number; bytes: number }>(
      `SELECT sequence, octet_length(text) AS bytes FROM run_log
       WHERE resource_id = ? AND sequence > ? ORDER BY sequence LIMIT 500`,
      run.id,
      last,
    );
    if (page.length === 0) break;
    for (const { sequence, bytes } of page) {
      if (dropped >= wanted) break;
      dropped += bytes;
      last = sequence;
    }
    tx.run(
      "DELETE FROM run_log WHERE resource_id = ? AND sequence > ? AND sequence <= ?",
      run.id,
      run.log_head,
      last,
    );
  }
  return dropped;
}

/** Lines after `after`, oldest first. */
export function readRunLog(
  reader: Reader,
  runId: string,
  { after = 0, limit = LIMITS.page }: { after?: number; limit?: number },
): RunLogEntry[] {
  return reader.all<RunLogEntry>(
    `SELECT l.sequence, l.at, l.visit, l.node, l.stream, l.text
     FROM resource r JOIN run_log l ON l.resource_id = r.id
     WHERE r.uid = ? AND l.sequence > ? ORDER BY l.sequence LIMIT ?`,
    runId,
    after,
    limit,
  );
}
