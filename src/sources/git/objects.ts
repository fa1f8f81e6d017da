import { spawn } from "node:child_process";
import { once } from "node:events";
import { PiWorkflowsError } from "../../model/errors.ts";
import { gitEnvironment, type Repository } from "./repository.ts";

/** One object of the repository: `missing` where the name leads to none. */
export type GitObject = { oid: string; type: string; content: Buffer };

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

/** Starts a reader; its child ends with `close`, or when this process ends. */
export function openObjects(repository: Repository): ObjectReader {
  const child = spawn(
    "git",
    ["--no-replace-objects", `--git-dir=${repository.gitDir}`, "cat-file", "--batch"],
    { env: gitEnvironment(), stdio: ["pipe", "pipe", "ignore"] },
  );
  const waiting: Waiting[] = [];
  const parser = createParser((object) => waiting.shift()?.resolve(object));
  let ended: Error | undefined;

  const end = (error: Error) => {
    ended ??= error;
    for (const { reject } of waiting.splice(0)) reject(ended);
  };
  child.stdout.on("data", parser);
  child.on("error", (error) => end(gitEnded(error.message, error)));
  child.on("close", () => end(gitEnded("git cat-file ended")));
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
function createParser(deliver: (object: GitObject | undefined) => void): (chunk: Buffer) => void {
  let held: Buffer[] = [];
  let bytes = 0;
  let wanted = 0;
  return (chunk) => {
    held.push(chunk);
    bytes += chunk.length;
    // Joining only when enough has come keeps a large blob linear.
    if (bytes < wanted) return;
    let buffer = held.length === 1 ? chunk : Buffer.concat(held);
    for (;;) {
      const answer = takeAnswer(buffer);
      if ("wanted" in answer) {
        wanted = answer.wanted;
        break;
      }
      deliver(answer.object);
      buffer = answer.rest;
    }
    held = [buffer];
    bytes = buffer.length;
  };
}

type Answer = { wanted: number } | { object: GitObject | undefined; rest: Buffer };

function takeAnswer(buffer: Buffer): Answer {
  const lineEnd = buffer.indexOf(0x0a);
  if (lineEnd < 0) return { wanted: buffer.length + 1 };
  const header = buffer.toString("utf8", 0, lineEnd);
  const match = /^([0-9a-f]{40,64}) (\w+) (\d+)$/.exec(header);
  if (!match) return { object: undefined, rest: buffer.subarray(lineEnd + 1) };
  const [, oid = "", type = "", size = "0"] = match;
  const start = lineEnd + 1;
  const stop = start + Number(size);
  if (buffer.length < stop + 1) return { wanted: stop + 1 };
  const content = Buffer.from(buffer.subarray(start, stop));
  return { object: { oid, type, content }, rest: buffer.subarray(stop + 1) };
}
