import type { ChildProcess } from "node:child_process";
import { maskSecrets } from "../model/secret-text.ts";
import { createOutputCapture } from "./output.ts";

/** What a runner wrote to its output streams, for the log. */
export type ChildOutput = {
  listen(child: ChildProcess): void;
  /** Masks these values from now on: a child writes of all passes that ran in it. */
  hide(secrets: readonly string[]): void;
  text(): { stdout: string; stderr: string };
};

/** Keeps head and tail of both streams, `limit` bytes each. */
export function createChildOutput(limit: number): ChildOutput {
  const [stdout, stderr] = [createOutputCapture(limit), createOutputCapture(limit)];
  const secrets = new Set<string>();
  const masked = (text: string): string => {
    const longestFirst = [...secrets].sort((a, b) => b.length - a.length);
    return maskSecrets(text, longestFirst);
  };
  return {
    listen(child) {
      child.stdout?.on("data", stdout.push);
      child.stderr?.on("data", stderr.push);
    },
    hide(values) {
      for (const value of values) secrets.add(value);
    },
    text: () => ({ stdout: masked(stdout.text()), stderr: masked(stderr.text()) }),
  };
}
