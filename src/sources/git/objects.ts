import { spawn } from "node:child_process";
import { once } from "node:events";
import { PiWorkflowsError } from "../../model/errors.ts";
import { gitEnvironment, type Repository } from "./repository.ts";

/** One object of the repository. */
export type GitObject = {
  oid: string;
  type: string;
  /** Bytes. */
  size: number;
  /** Empty where the object is larger than the reader's limit. */
  content: Buffer;
};

/** Reads objects through one long-lived `git cat-file --batch`, which sees new refs and packs. */
export type ObjectReader = {
  /** `name` is any revision expression without line breaks. Undefined where there is no such object. */
  read(name: string): Promise<GitObject | undefined>;
  close(): Promise<void>;
};

type Waiting = {
  name: string;
  resolve: (object: GitObject | undefined) => void;
  reject: (error: Error) => void;
};

/**
 * Starts a reader; its child ends with `close`, or when this process ends. The content of blobs
 * larger than `limit` (bytes) is passed over, whatever their size.
 */
export function openObjects(
  repository: Pick<Repository, "gitDir">,
  limit: number = Number.MAX_SAFE_INTEGER,
): ObjectReader {
  const child = spawn(
    "git",
    ["--no-replace-objects", `--git-dir=${repository.gitDir}`, "cat-file", "--batch"],
    { env: gitEnvironment(), stdio: ["pipe", "pipe", "ignore"] },
  );
  const waiting: Waiting[] = [];
  const parser = createParser(limit, (object) => waiting.shift()?.resolve(object));
  let ended: Error | undefined;

  const end = (error: Error) => {
    ended ??= error;
    for (const { reject } of waiting.splice(0)) reject(ended);
  };
  child.stdout.on("data", parser);
  child.on("error", (error) => end(gitEnded(error.message, error)));
  child.on("close", () => {
    const [reading] = waiting;
    const what = reading === undefined ? "" : ` while it read ${reading.name}`;
    end(gitEnded(`git cat-file ended${what}; a partial clone lacks what was not checked out yet`));
  });
  child.stdin.on("error", (error) => end(gitEnded(error.message, error)));

  return {
    read: (name) =>
      new Promise((resolve, reject) => {
        if (ended) return reject(ended);
        if (/[\r\n\0]/.test(name))
          return reject(gitEnded(`${JSON.stringify(name)} is no revision`));
        waiting.push({ name, resolve, reject });
        child.stdin.write(`${name}\n`);
      }),
    close: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const closed = once(child, "close");
      child.stdin.end();
      await closed;
    },
  };
}

function gitEnded(message: string, cause?: unknown): PiWorkflowsError {
  return new PiWorkflowsError("GIT_FAILED", message, cause === undefined ? {} : { cause });
}

/**
 * Parses answers, each `OID TYPE SIZE\n` with SIZE bytes and a line feed, or one line that ends in
 * `missing` or `ambiguous` (git-cat-file, "Batch output").
 */
function createParser(
  limit: number,
  deliver: (object: GitObject | undefined) => void,
): (chunk: Buffer) => void {
  let held: Buffer[] = [];
  let bytes = 0;
  let wanted = 0;
  let passOver = 0;
  return (arrived) => {
    const chunk = arrived.subarray(passOver);
    passOver -= arrived.length - chunk.length;
    if (chunk.length === 0) return;
    held.push(chunk);
    bytes += chunk.length;
    // Joining only when enough has come keeps a large blob linear.
    if (bytes < wanted) return;
    let buffer = held.length === 1 ? chunk : Buffer.concat(held);
    wanted = 0;
    while (buffer.length > 0) {
      const answer = takeAnswer(buffer, limit);
      if ("wanted" in answer) {
        wanted = answer.wanted;
        break;
      }
      deliver(answer.object);
      passOver = Math.max(0, answer.length - buffer.length);
      buffer = buffer.subarray(answer.length);
    }
    held = [buffer];
    bytes = buffer.length;
  };
}

type Answer = { wanted: number } | { object: GitObject | undefined; length: number };

function takeAnswer(buffer: Buffer, limit: number): Answer {
  const lineEnd = buffer.indexOf(0x0a);
  if (lineEnd < 0) return { wanted: buffer.length + 1 };
  const header = buffer.toString("utf8", 0, lineEnd);
  const match = /^([0-9a-f]{40,64}) (\w+) (\d+)$/.exec(header);
  if (!match) return { object: undefined, length: lineEnd + 1 };
  const [, oid = "", type = "", digits = "0"] = match;
  const size = Number(digits);
  const start = lineEnd + 1;
  const length = start + size + 1;
  if (type === "blob" && size > limit) {
    return { object: { oid, type, size, content: Buffer.alloc(0) }, length };
  }
  if (buffer.length < length) return { wanted: length };
  const content = Buffer.from(buffer.subarray(start, start + size));
  return { object: { oid, type, size, content }, length };
}
