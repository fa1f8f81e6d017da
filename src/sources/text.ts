import { isUtf8 } from "node:buffer";
import { PiWorkflowsError } from "../model/errors.ts";
import { LIMITS } from "../model/limits.ts";
import type { Problem } from "../model/manifest.ts";
import { fileStart, placeOfOffset } from "./place.ts";

/** The text of a spec file's bytes without its byte order mark, or why it can't be one. */
export function decodeText(file: string, bytes: Uint8Array): { text: string } | Problem {
  const fault = byteFault(bytes);
  if (fault !== undefined) return problemOf(file, fault);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  return { text: text.charCodeAt(0) === 0xfeff ? text.slice(1) : text };
}

/** Why a file can't be read, as a whole sentence for its problem. */
export class FileFault extends Error {
  override name = "FileFault";
  /** True where there simply is no such file. */
  readonly isAbsence: boolean;
  constructor(message: string, { isAbsence = false }: { isAbsence?: boolean } = {}) {
    super(message);
    this.isAbsence = isAbsence;
  }
}

export const LINK_LOOP = "the symbolic link leads back to itself";
const LFS_POINTER = Buffer.from("version https://git-lfs.github.com/spec/v1\n");

/** Why `bytes` can't be a spec file's or a definition's text. */
export function byteFault(bytes: Uint8Array): string | undefined {
  if (bytes.length > LIMITS.manifestFile) {
    return `the file has ${bytes.length} bytes; at most ${LIMITS.manifestFile} are allowed`;
  }
  if (LFS_POINTER.equals(bytes.subarray(0, LFS_POINTER.length))) {
    return "the file is a Git LFS pointer, not its content; keep it out of Git LFS (.gitattributes)";
  }
  if (isUtf8(bytes)) return undefined;
  const utf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
  return `the file is not UTF-8 text${utf16 ? " but UTF-16" : ""}; save it as UTF-8`;
}

/** Why the file system would not let a file be read. */
export function readFault(thrown: unknown): string {
  if (thrown instanceof FileFault || thrown instanceof PiWorkflowsError) return thrown.message;
  const { code, message } = thrown as NodeJS.ErrnoException;
  switch (code) {
    case "ENOENT":
      return "the file does not exist";
    case "EACCES":
    case "EPERM":
      return "the file can't be read: permission denied";
    case "EISDIR":
      return "this is a folder, not a file";
    case "ELOOP":
      return LINK_LOOP;
    default:
      return `the file can't be read: ${code ?? message}`;
  }
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
