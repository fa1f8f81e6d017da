import { randomBytes } from "node:crypto";
import { systemClock } from "../model/clock.ts";
import type { Clock, Ids } from "../model/ports.ts";

/** Identities from the machine's clock and its random source. */
export function systemIds(clock: Clock = systemClock): Ids {
  return { next: () => uuidV7(clock.now()), token: () => nextRandom().toString("hex") };
}

const RANDOM_BYTES = 16;
// A call of the random source takes some microseconds whatever its size, and every pass needs two.
const POOL_BYTES = 256 * RANDOM_BYTES;
let pool = Buffer.alloc(0);

/** 128 random bits, never handed out before. */
function nextRandom(): Buffer {
  if (pool.length === 0) pool = randomBytes(POOL_BYTES);
  const bytes = pool.subarray(0, RANDOM_BYTES);
  pool = pool.subarray(RANDOM_BYTES);
  return bytes;
}

// RFC 9562 section 5.7: 48 bits of milliseconds, then random bits around version and variant.
function uuidV7(now: number): string {
  const bytes = nextRandom();
  bytes.writeUIntBE(now, 0, 6);
  bytes[6] = 0x70 | ((bytes[6] as number) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] as number) & 0x3f);
  const hex = bytes.toString("hex");
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join("-");
}
