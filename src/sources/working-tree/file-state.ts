import { hash } from "node:crypto";
import { type BigIntStats, readFileSync, statSync } from "node:fs";
import { LIMITS } from "../../model/limits.ts";
import { parseJsonTree } from "../json-tree.ts";
import { isTypeScript } from "../spec-file.ts";

/** A file as it was seen. While the numbers stay, it is taken not to have changed. */
export type FileState = Pick<BigIntStats, "size" | "mtimeNs" | "ctimeNs" | "ino" | "dev"> & {
  /** SHA-256 of the bytes, or why there are none. */
  content: string;
  /** It changed so shortly before it was read that another change could have the same times. */
  isRacy: boolean;
  /** It looks as if only its beginning had been written yet. */
  looksCut: boolean;
};

// Coarser than the clock of any file system in use (FAT: 2 s).
const RACY_MS = 2_000;
const READS = 3;

/**
 * The state of `file`, read again only where its numbers differ from `known`. `now` is the epoch
 * time of the scan. Undefined where there is no such file.
 */
export function readState(
  file: string,
  known: FileState | undefined,
  now: number,
): FileState | undefined {
  try {
    let stats = statSync(file, { bigint: true, throwIfNoEntry: false });
    if (stats === undefined || stats.isDirectory()) return undefined;
    if (known !== undefined && !known.isRacy && isSame(known, stats)) return known;
    for (let read = 1; ; read += 1) {
      const found = contentOf(file, stats);
      const after = statSync(file, { bigint: true, throwIfNoEntry: false });
      if (after === undefined) return undefined;
      const isSettled = isSame(stats, after);
      stats = after;
      if (!isSettled && read < READS) continue;
      const isRacy = !isSettled || Number(after.ctimeNs / 1_000_000n) > now - RACY_MS;
      const { size, mtimeNs, ctimeNs, ino, dev } = after;
      return { size, mtimeNs, ctimeNs, ino, dev, ...found, isRacy };
    }
  } catch (thrown) {
    // Loading says what is wrong with it. Its numbers are unknown, so it is tried again each time.
    const content = `unreadable: ${(thrown as NodeJS.ErrnoException).code ?? String(thrown)}`;
    const unknown = { size: 0n, mtimeNs: 0n, ctimeNs: 0n, ino: 0n, dev: 0n };
    return { ...unknown, content, isRacy: false, looksCut: false };
  }
}

type Numbers = Omit<FileState, "content" | "isRacy" | "looksCut">;

function isSame(left: Numbers, right: Numbers): boolean {
  return (
    left.mtimeNs === right.mtimeNs &&
    left.ctimeNs === right.ctimeNs &&
    left.size === right.size &&
    left.ino === right.ino &&
    left.dev === right.dev
  );
}

function contentOf(
  file: string,
  { size, mtimeNs }: Numbers,
): Pick<FileState, "content" | "looksCut"> {
  if (size > LIMITS.manifestFile) {
    return { content: `too large: ${size} ${mtimeNs}`, looksCut: false };
  }
  const bytes = readFileSync(file);
  return { content: hash("sha256", bytes, "hex"), looksCut: isCut(file, bytes.toString("utf8")) };
}

/** Whether a spec file's text ends before it should, as far as can be told without evaluating it. */
function isCut(file: string, text: string): boolean {
  if (isTypeScript(file)) return !/\bexport\b/.test(text);
  try {
    JSON.parse(text);
    return false;
  } catch {
    return "problems" in parseJsonTree(file, text);
  }
}
