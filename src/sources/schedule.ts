/**
 * The next time at which a source of interval `everyMs` is due, strictly after `now` (epoch
 * milliseconds). Each lane has its own fixed phase within the interval, so that many managers with
 * one interval do not wake at once, and a restart keeps the rhythm.
 */
export function nextDue(everyMs: number, lane: number, now: number): number {
  const phase = spread(lane) % everyMs;
  return Math.floor((now - phase) / everyMs + 1) * everyMs + phase;
}

/** A whole number below 2³² that differs wildly between neighbours (murmur3's finaliser). */
function spread(lane: number): number {
  let mixed = lane + 0x9e3779b9;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
