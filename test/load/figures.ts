import { readdirSync, readFileSync, statSync } from "node:fs";

/** What a process and its store take now. */
export type Taken = { rssMiB: number; descriptors: number; walMiB: number };

const MIB = 1024 * 1024;

export function taken(pid: number, database: string): Taken {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const rss = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
  const wal = statSync(`${database}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  return {
    rssMiB: Math.round(rss),
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    walMiB: Math.round((10 * wal) / MIB) / 10,
  };
}

/** The smallest value that at least the part `share` of them does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** Milliseconds that `work` takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return Math.round(10 * (performance.now() - begun)) / 10;
}
