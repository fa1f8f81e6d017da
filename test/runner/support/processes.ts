import { readFileSync } from "node:fs";

/** True while `pid` runs: a zombie that nobody has reaped does not. */
export function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (process.platform !== "linux") return true;
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

/** Waits until `condition` holds. @throws Error after `boundMs`. */
export async function until(condition: () => boolean, boundMs = 15_000): Promise<void> {
  const end = Date.now() + boundMs;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`not within ${boundMs} ms: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
