import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

/** One thing that reached the kernel: a write, a truncation, or a sync that has returned. */
type Op = { what: "W" | "T" | "S"; file: FileName; at: number; data: Buffer };
type FileName = "state.sqlite" | "state.sqlite-wal" | "acks";

const FILES: readonly FileName[] = ["state.sqlite", "state.sqlite-wal", "acks"];
const HEAD_BYTES = 14;
/** What a disk writes whole or not at all. */
const SECTOR = 512;

/** Reads what the library noted in SHIM_LOG. */
export function readDiskLog(file: string): Op[] {
  const log = readFileSync(file);
  const ops: Op[] = [];
  for (let at = 0; at + HEAD_BYTES <= log.length;) {
    const what = String.fromCharCode(log[at] as number) as Op["what"];
    const length = log.readUInt32LE(at + 10);
    const begin = at + HEAD_BYTES;
    at = begin + (what === "W" ? length : 0);
    ops.push({
      what,
      file: FILES[(log[begin - HEAD_BYTES + 1] as number) - 1] as FileName,
      at: Number(log.readBigInt64LE(begin - HEAD_BYTES + 2)),
      data: log.subarray(begin, at),
    });
  }
  return ops;
}

/** What becomes of a sector that was written but not synced when the power goes off. */
export type Fate = (sector: number) => boolean;

/**
 * A disk that is replayed op by op. At any moment the power can go off: what was synced is there, and
 * of every write since, each sector by its fate. So writes are lost, torn, and out of order.
 */
export class Disk {
  readonly #synced = new Map<FileName, Buffer>(FILES.map((name) => [name, Buffer.alloc(0)]));
  readonly #pending = new Map<FileName, Op[]>(FILES.map((name) => [name, []]));

  do(op: Op): void {
    const pending = this.#pending.get(op.file) as Op[];
    if (op.what !== "S") {
      pending.push(op);
      return;
    }
    this.#synced.set(
      op.file,
      after(this.#synced.get(op.file) as Buffer, pending, () => true),
    );
    this.#pending.set(op.file, []);
  }

  /** Lines of `acks` that were written, which a person has seen: no power cut takes them back. */
  acknowledged(): string[] {
    return this.#after("acks", () => true)
      .toString()
      .split("\n")
      .filter((line) => line !== "");
  }

  /** Writes the files that are found when the power is back. */
  cutInto(folder: string, fate: Fate): string {
    for (const name of FILES.slice(0, 2)) {
      writeFileSync(path.join(folder, name), this.#after(name, fate));
    }
    return path.join(folder, "state.sqlite");
  }

  #after(name: FileName, fate: Fate): Buffer {
    return after(this.#synced.get(name) as Buffer, this.#pending.get(name) as Op[], fate);
  }
}

function after(before: Buffer, ops: readonly Op[], fate: Fate): Buffer {
  let image = before;
  let owned = false;
  const grow = (size: number): void => {
    if (owned && size <= image.length) return;
    const larger = Buffer.alloc(Math.max(size, image.length));
    image.copy(larger);
    image = larger;
    owned = true;
  };
  let sectors = 0;
  for (const { what, at, data } of ops) {
    sectors += 1;
    if (what === "T") {
      if (!fate(sectors)) continue;
      grow(at);
      image = image.subarray(0, at);
      continue;
    }
    for (let from = 0; from < data.length; from += SECTOR, sectors += 1) {
      if (!fate(sectors)) continue;
      const part = data.subarray(from, from + SECTOR);
      grow(at + from + part.length);
      part.copy(image, at + from);
    }
  }
  return image;
}
