import { writeSync } from "node:fs";
import type { Readable } from "node:stream";
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

/** Reads frames, in the parent. */
export function readResults(stream: Readable, onItems: (items: Desired[]) => void): void {
  let parts: Buffer[] = [];
  let size = 0;
  let wanted = LENGTHS;
  stream.on("data", (part: Buffer) => {
    parts.push(part);
    size += part.length;
    // Joins parts only when a frame is whole: each joined byte is copied once.
    while (size >= wanted) {
      const all = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
      const end = LENGTHS + all.readUInt32LE(0) + all.readUInt32LE(4);
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
  });
}

function parseFrame(frame: Buffer): Desired[] {
  const start = LENGTHS + frame.readUInt32LE(0);
  const heads = JSON.parse(frame.toString("utf8", LENGTHS, start)) as Head[];
  const text = frame.toString("utf8", start);
  let from = 0;
  const take = (length: number): string => text.slice(from, (from += length));
  return heads.map(({ lengths: [spec, status], ...rest }) => ({
    ...rest,
    spec: take(spec),
    initialStatus: take(status),
  }));
}
