import type { ApplyBatch } from "../../model/batch.ts";
import { PiWorkflowsError } from "../../model/errors.ts";
import type { GroupCommit } from "./group.ts";
import { insertBody } from "./resources.ts";
import type { Transaction } from "./transaction.ts";

/**
 * Bytes of specs written in one transaction. More would block the event loop too long (goal M5);
 * less costs more commits: a batch of 1,000 specs of 1 KB is one transaction.
 */
const CHUNK_BYTES = 1024 * 1024;

/** Spec bodies that are written but not yet named by any resource, by their place in the batch. */
export type StagedBodies = { batch: string; ids: ReadonlyMap<number, number>; ranges: number };

/**
 * Writes the specs of a large batch ahead, in several short transactions, so that the one that
 * makes them count is short. Until then nothing names them: after a crash, or when the batch is
 * refused, they are orphans and are deleted. Small batches are not staged.
 */
export async function stageBodies(
  group: GroupCommit,
  batch: ApplyBatch,
  id: string,
): Promise<StagedBodies> {
  const ids = new Map<number, number>();
  const chunks = chunked(batch);
  if (chunks.length < 2) return { batch: id, ids, ranges: 0 };
  for (const chunk of chunks) {
    const first = await group.write("stage", (tx) => stageChunk(tx, id, chunk), "deferred");
    for (const [offset, { index }] of chunk.entries()) ids.set(index, first + offset);
  }
  return { batch: id, ids, ranges: chunks.length };
}

type Piece = { index: number; spec: string };

function chunked(batch: ApplyBatch): Piece[][] {
  const chunks: Piece[][] = [];
  let bytes = CHUNK_BYTES;
  for (const [index, change] of batch.changes.entries()) {
    if (change.kind === "prune") continue;
    if (bytes >= CHUNK_BYTES) {
      chunks.push([]);
      bytes = 0;
    }
    const { spec } = change.write;
    chunks.at(-1)?.push({ index, spec });
    bytes += spec.length;
  }
  return chunks;
}

/** Returns the id of the first body; the others follow it. */
function stageChunk(tx: Transaction, batch: string, chunk: Piece[]): number {
  let last = 0;
  for (const { spec } of chunk) last = insertBody(tx, spec);
  const first = last - chunk.length + 1;
  tx.run("INSERT INTO staged_body (first_id, last_id, batch) VALUES (?, ?, ?)", first, last, batch);
  return first;
}

/** Makes staged bodies permanent, in the transaction that names them. */
export function adoptBodies(tx: Transaction, staged: StagedBodies): void {
  if (staged.ranges === 0) return;
  const adopted = tx.run("DELETE FROM staged_body WHERE batch = ?", staged.batch);
  if (adopted !== staged.ranges) {
    throw new PiWorkflowsError(
      "STORE_BUSY",
      "another server took the store over while the batch was written",
    );
  }
}

/** Deletes what a refused batch staged. */
export async function discardBodies(group: GroupCommit, staged: StagedBodies): Promise<void> {
  if (staged.ranges === 0) return;
  await group.write("discard", (tx) => {
    deleteStaged(tx, staged.batch);
  });
}

/** Deletes what batches staged that a crash cut short. */
export function deleteOrphans(tx: Transaction): void {
  for (const { batch } of tx.all<{ batch: string }>("SELECT DISTINCT batch FROM staged_body")) {
    deleteStaged(tx, batch);
  }
}

function deleteStaged(tx: Transaction, batch: string): void {
  tx.run(
    `DELETE FROM spec_body WHERE id IN (SELECT b.id FROM staged_body s
       JOIN spec_body b ON b.id BETWEEN s.first_id AND s.last_id WHERE s.batch = ?)`,
    batch,
  );
  tx.run("DELETE FROM staged_body WHERE batch = ?", batch);
}
