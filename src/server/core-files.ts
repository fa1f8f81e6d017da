import { writeFileSync } from "node:fs";

/**
 * Keeps what is in memory out of core files, of this process and of all that it starts: Linux still
 * writes them where somebody raised the limit, or hands them to a program that collects them, which
 * the limit does not keep it from; but then they hold no page of memory (core(5), "Controlling which
 * mappings are written to the core dump"). Elsewhere the limit decides, which is 0 unless raised.
 */
export function keepMemoryOutOfCoreFiles(): void {
  try {
    writeFileSync("/proc/self/coredump_filter", "0");
  } catch {
    // No Linux, or a kernel without core files.
  }
}
