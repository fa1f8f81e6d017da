import { PiWorkflowsError } from "../../../model/errors.ts";
import type { JournalInput } from "../../../model/run.ts";
import type { Transaction } from "../transaction.ts";

type AttemptLine = Extract<JournalInput, { visit: number }>;

/**
 * Keeps track of what of a run waits for a person, as its journal says it: checkpoints by how often
 * they were reached, and attempts of which nobody knows how they ended. What a person said of either
 * is done with once the journal has it.
 */
export function keepQuestion(tx: Transaction, runId: number, entry: AttemptLine): void {
  switch (entry.event) {
    case "begun":
      if (entry.kind === "checkpoint") reach(tx, runId, entry, 1);
      return;
    case "ambiguous":
      ask(tx, runId, entry);
      return;
    case "released":
      settle(tx, runId, entry);
      return;
    case "succeeded":
    case "failed":
    case "aborted":
      if (entry.kind === "checkpoint") reach(tx, runId, entry, 0);
      // A pure attempt is never ambiguous; the others are few.
      else if (!PURE.has(entry.kind)) settle(tx, runId, entry);
      return;
  }
}

const PURE: ReadonlySet<string> = new Set(["compute", "include", "exit", "result"]);

/** A checkpoint is open (1), or it is no longer (0). A visit keeps its ordinal over its attempts. */
function reach(tx: Transaction, runId: number, { visit, node }: AttemptLine, open: 0 | 1): void {
  tx.run(
    `INSERT INTO question (resource_id, visit, about, node, ordinal, open)
     VALUES (?, ?, 'checkpoint', ?, 1 + (SELECT count(*) FROM question
       WHERE resource_id = ? AND node = ? AND about = 'checkpoint'), ?)
     ON CONFLICT (resource_id, visit) DO UPDATE SET open = excluded.open`,
    runId,
    visit,
    node,
    runId,
    node,
    open,
  );
  if (open === 1) return;
  tx.run(
    `DELETE FROM answer WHERE resource_id = ? AND node = ? AND ordinal =
       (SELECT ordinal FROM question WHERE resource_id = ? AND visit = ?)`,
    runId,
    node,
    runId,
    visit,
  );
}

function ask(tx: Transaction, runId: number, { visit, node }: AttemptLine): void {
  tx.run(
    `INSERT INTO question (resource_id, visit, about, node, ordinal, open)
     VALUES (?, ?, 'ambiguous', ?, 1, 1)
     ON CONFLICT (resource_id, visit) DO UPDATE SET open = 1`,
    runId,
    visit,
    node,
  );
}

function settle(tx: Transaction, runId: number, { visit }: AttemptLine): void {
  const closed = tx.run(
    "DELETE FROM question WHERE resource_id = ? AND visit = ? AND about = 'ambiguous'",
    runId,
    visit,
  );
  if (closed > 0)
    tx.run("DELETE FROM resolution WHERE resource_id = ? AND visit = ?", runId, visit);
}

/** Which time of a checkpoint an answer is for: the one that is open, or else the next. */
export function openOrdinal(tx: Transaction, runId: number, node: string): number {
  const last = tx.get<{ ordinal: number; open: 0 | 1 }>(
    `SELECT ordinal, open FROM question WHERE resource_id = ? AND node = ? AND about = 'checkpoint'
     ORDER BY ordinal DESC LIMIT 1`,
    runId,
    node,
  );
  const open = tx.get<{ ordinal: number | null }>(
    `SELECT min(ordinal) AS ordinal FROM question WHERE resource_id = ? AND node = ?
       AND about = 'checkpoint' AND open = 1`,
    runId,
    node,
  )?.ordinal;
  return open ?? (last?.ordinal ?? 0) + 1;
}

/** Which time of a checkpoint a visit of it is. @throws NO_QUESTION */
export function ordinalOfVisit(
  tx: Transaction,
  runId: number,
  { node, visit }: { node: string; visit: number },
): number {
  const found = tx.get<{ ordinal: number }>(
    `SELECT ordinal FROM question WHERE resource_id = ? AND visit = ? AND node = ?
       AND about = 'checkpoint'`,
    runId,
    visit,
    node,
  );
  if (found) return found.ordinal;
  throw new PiWorkflowsError("NO_QUESTION", `visit ${visit} of the run is no question of ${node}`);
}

/** Whether that time of a checkpoint was answered and journaled. */
export function isClosed(
  tx: Transaction,
  runId: number,
  { node, ordinal }: { node: string; ordinal: number },
): boolean {
  return (
    tx.get(
      `SELECT 1 AS found FROM question WHERE resource_id = ? AND node = ? AND ordinal = ?
         AND about = 'checkpoint' AND open = 0`,
      runId,
      node,
      ordinal,
    ) !== undefined
  );
}

export function isAmbiguous(tx: Transaction, runId: number, visit: number): boolean {
  return (
    tx.get(
      `SELECT 1 AS found FROM question WHERE resource_id = ? AND visit = ? AND about = 'ambiguous'`,
      runId,
      visit,
    ) !== undefined
  );
}
