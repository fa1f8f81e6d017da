import { isUtf8 } from "node:buffer";
import { LIMITS } from "../model/limits.ts";
import type { Problem } from "../model/manifest.ts";
import { fileStart, placeOfOffset } from "./place.ts";

/** The text of a spec file's bytes without its byte order mark, or why it can't be one. */
export function decodeText(file: string, bytes: Uint8Array): { text: string } | Problem {
  if (bytes.length > LIMITS.manifestFile) {
    return problemOf(
      file,
      `the file has ${bytes.length} bytes; at most ${LIMITS.manifestFile} are allowed`,
    );
  }
  if (!isUtf8(bytes)) {
    const utf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
    return problemOf(
      file,
      `the file is not UTF-8 text${utf16 ? " but UTF-16" : ""}; save it as UTF-8`,
    );
  }
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  return { text: text.charCodeAt(0) === 0xfeff ? text.slice(1) : text };
}

/** A problem with the markers that git leaves in a conflicted file, where `text` has one. */
export function conflictMarker(file: string, text: string): Problem | undefined {
  const match = /^(?:<{7}|>{7})(?: .*)?\r?$/m.exec(text);
  if (match === null) return undefined;
  return {
    ...placeOfOffset(file, text, match.index),
    path: "",
    message: "the file holds a git conflict marker; resolve the merge conflict first",
  };
}

/** A problem with a file as a whole. */
export function problemOf(file: string, message: string): Problem {
  return { ...fileStart(file), path: "", message };
}
