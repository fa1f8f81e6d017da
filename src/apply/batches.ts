import { byteLength, LIMITS } from "../model/limits.ts";

// What surrounds the items of a request: project, names, brackets.
const ENVELOPE_BYTES = 64 * 1024;

/**
 * Items of a run: half of what one transaction may hold. A full one takes some 35 ms, during which
 * the server answers nobody; goal M5 wants at most 25.
 */
export const RUN_ITEMS = LIMITS.batch / 2;

/**
 * Cuts items into runs of at most `maxItems` items whose JSON fits one request body, in order.
 * An item that alone is too large gets a run of its own, for the receiver to refuse.
 */
export function batchesOf<T>(
  items: readonly T[],
  maxItems: number = RUN_ITEMS,
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
