import { byteLength, LIMITS } from "../model/limits.ts";

// What surrounds the items of a request: project, names, brackets.
const ENVELOPE_BYTES = 64 * 1024;

/**
 * Cuts items into runs of at most LIMITS.batch items whose JSON fits one request body, in order.
 * An item that alone is too large gets a run of its own, for the receiver to refuse.
 */
export function batchesOf<T>(
  items: readonly T[],
  maxItems: number = LIMITS.batch,
  maxBytes: number = LIMITS.requestBody - ENVELOPE_BYTES,
): T[][] {
  const batches: T[][] = [];
  let batch: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = byteLength(JSON.stringify(item)) + 1;
    if (batch.length > 0 && (batch.length === maxItems || bytes + size > maxBytes)) {
      batches.push(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(item);
    bytes += size;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}
