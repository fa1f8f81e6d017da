import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { batchesOf } from "../../src/apply/batches.ts";
import { byteLength, LIMITS } from "../../src/model/limits.ts";

/** Bytes of a list as JSON, without its outermost bracket. */
const bytes = (items: readonly string[]) => byteLength(JSON.stringify(items)) - 1;

describe("cutting into batches", () => {
  it("keeps the order, fits every batch into both bounds, and cuts no sooner than it must", () => {
    const items = fc.array(fc.string({ maxLength: 12 }), { maxLength: 20 });
    const bounds = fc.record({
      items: fc.integer({ min: 1, max: 6 }),
      bytes: fc.integer({ min: 1, max: 60 }),
    });
    fc.assert(
      fc.property(items, bounds, (given, most) => {
        const batches = batchesOf(given, most.items, most.bytes);
        expect(batches.flat()).toEqual(given);
        for (const [index, batch] of batches.entries()) {
          expect(batch.length).toBeGreaterThan(0);
          expect(batch.length).toBeLessThanOrEqual(most.items);
          if (batch.length > 1) expect(bytes(batch)).toBeLessThanOrEqual(most.bytes);
          const [next] = batches[index + 1] ?? [];
          const isFull =
            next === undefined ||
            batch.length === most.items ||
            bytes([...batch, next]) > most.bytes;
          expect(isFull).toBe(true);
        }
      }),
    );
  });

  it("leaves room in a request for what surrounds the items", () => {
    const items = Array.from({ length: 9_000 }, () => "x".repeat(8_000));
    const batches = batchesOf(items, items.length);
    expect(batches.length).toBeGreaterThan(2);
    for (const changes of batches) {
      const body = JSON.stringify({ project: "p".repeat(4_096), changes });
      expect(byteLength(body)).toBeLessThanOrEqual(LIMITS.requestBody);
    }
  });
});
