import { readdirSync, readFileSync } from "node:fs";

/** A process as everybody, and as its own user, sees it. */
export type Seen = {
  pid: number;
  /** Its arguments, each ended by a NUL. */
  command: string;
  environment: string;
  /** Which pages of memory its core file would hold, in hexadecimal. */
  coreFilter: string;
};

/** All that a process has started, and what those have; Linux only. */
export function childrenOf(pid: number): Seen[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    const stat = read(Number(name), "stat");
    // The name of a program is in brackets, and may hold any.
    const [, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    parents.set(Number(name), Number(parent));
  }
  const isBelow = (one: number): boolean => {
    const parent = parents.get(one) ?? 0;
    return parent === pid || (parent > 1 && isBelow(parent));
  };
  return [...parents.keys()].filter(isBelow).flatMap((one) => {
    const command = read(one, "cmdline");
    const seen = { environment: read(one, "environ"), coreFilter: read(one, "coredump_filter") };
    // Between the reads it may have become another program, or have ended.
    const isSame = command !== "" && command === read(one, "cmdline");
    return isSame ? [{ pid: one, command, ...seen, coreFilter: seen.coreFilter.trim() }] : [];
  });
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}
