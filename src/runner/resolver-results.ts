import { writeSync } from "node:fs";
import type { Desired } from "../model/manifest.ts";

// Manifests travel on a pipe of their own: their bodies are JSON texts already, and as strings in a
// JSON message they would be escaped, unescaped and copied for longer than it takes to make them.
// A frame: two lengths (UInt32LE), then that many bytes of JSON and of bodies, one after another.
export const RESULTS_FD = 4;
const LENGTHS = 8;

/** All of a manifest but its bodies, and how many characters of the frame's text each takes. */
type Head = Omit<Desired, "spec" | "initialStatus"> & { lengths: [spec: number, status: number] };

/** Writes one frame, in the child; blocks while the parent is behind. */
export function writeResults(items: readonly Desired[]): void {
  if (items.length === 0) return;
  let text = "";
  const heads = items.map(({ spec, initialStatus, ...rest }): Head => {
    text += spec + initialStatus;
    return { ...rest, lengths: [spec.length, initialStatus.length] };
  });
  const head = Buffer.from(JSON.stringify(heads));
  const body = Buffer.from(text);
  const lengths = Buffer.alloc(LENGTHS);
  lengths.writeUInt32LE(head.length, 0);
  lengths.writeUInt32LE(body.length, 4);
  const frame = Buffer.concat([lengths, head, body]);
  for (let from = 0; from < frame.length;) from += writeSync(RESULTS_FD, frame, from);
}

export type ResultsReader = {
  /** @throws Error where the bytes are no frames, or a frame is longer than the limit */
  push: (chunk: Buffer) => void;
  /** Whether all that came was whole frames: one that lacks its end hides manifests. */
  isWhole: () => boolean;
};

/** Reads frames of at most `limit` bytes, in the parent. */
export function resultsReader(limit: number, onItems: (items: Desired[]) => void): ResultsReader {
  let parts: Buffer[] = [];
  let size = 0;
  let wanted = LENGTHS;
  return {
    isWhole: () => size === 0,
    push(part) {
      parts.push(part);
      size += part.length;
      // Joins parts only when a frame is whole: each joined byte is copied once.
      while (size >= wanted) {
        const all = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
        const end = LENGTHS + all.readUInt32LE(0) + all.readUInt32LE(4);
        if (end > limit) throw new Error(`a frame of ${end} bytes`);
        parts = [all];
        if (size < end) {
          wanted = end;
          return;
        }
        onItems(parseFrame(all.subarray(0, end)));
        parts = [all.subarray(end)];
        size -= end;
        wanted = LENGTHS;
      }
    },
  };
}

function parseFrame(frame: Buffer): Desired[] {
  const start = LENGTHS + frame.readUInt32LE(0);
  const heads: unknown = JSON.parse(frame.toString("utf8", LENGTHS, start));
  const text = frame.toString("utf8", start);
  let from = 0;
  const take = (length: number): string => text.slice(from, (from += length));
  if (!Array.isArray(heads)) throw new Error("no list of manifests");
  const items = heads.map((head: unknown) => {
    if (!isHead(head)) throw new Error("a manifest of an unknown form");
    const { lengths, ...rest } = head;
    return { ...rest, spec: take(lengths[0]), initialStatus: take(lengths[1]) };
  });
  if (from !== text.length) throw new Error("bodies of another length than said");
  return items;
}

// By hand: a schema would take as long for ten thousand of them as all the rest here.
function isHead(head: unknown): head is Head {
  if (!isRecord(head)) return false;
  const { resourceManager, key, specHash, labels, dependsOn, prune, suspend, place } = head;
  const { lengths } = head;
  return (
    [resourceManager, key, specHash].every(isText) &&
    isRecord(labels) &&
    Object.values(labels).every(isText) &&
    Array.isArray(dependsOn) &&
    dependsOn.every(isText) &&
    [prune, suspend].every((flag) => flag === undefined || typeof flag === "boolean") &&
    isRecord(place) &&
    isText(place["file"]) &&
    [place["line"], place["column"]].every(isCount) &&
    Array.isArray(lengths) &&
    lengths.length === 2 &&
    lengths.every(isCount)
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
