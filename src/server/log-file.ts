import { renameSync, statSync } from "node:fs";

/** A log file is set aside (as `.1`, one kept) when it is larger than this. Bytes. */
export const LOG_ROTATE_BYTES = 5 * 1024 * 1024;

/** Sets a log that has grown too large aside. */
export function rotateLog(file: string): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size > LOG_ROTATE_BYTES) renameSync(file, `${file}.1`);
}
