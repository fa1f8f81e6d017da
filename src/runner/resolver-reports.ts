import type { ChildProcess } from "node:child_process";
import type { Readable } from "node:stream";
import type { Desired } from "../model/manifest.ts";
import { createFrameReader } from "./frames.ts";
import { parseReport, REPORTS_FD, type ResolverReport } from "./resolver-protocol.ts";
import { RESULTS_FD, resultsReader } from "./resolver-results.ts";

export type ReportListener = {
  /** Bytes that a child may report in all. */
  limit: number;
  onDesired: (items: Desired[]) => void;
  onReport: (report: ResolverReport) => void;
  /** Called once, after which nothing more is read. Project code runs in the child, and can write there too. */
  onRefusal: (why: string) => void;
};

/**
 * Reads what a child reports, in the parent, and trusts nothing of it. Returns a function that says,
 * when the child has ended, whether all that it said was whole.
 */
export function readReports(child: ChildProcess, listener: ReportListener): () => boolean {
  const pipes = [REPORTS_FD, RESULTS_FD].map((fd) => child.stdio?.[fd] as Readable | undefined);
  let left = listener.limit;
  let isRefused = false;
  const refuse = (why: string): void => {
    if (isRefused) return;
    isRefused = true;
    for (const pipe of pipes) pipe?.destroy();
    listener.onRefusal(why);
  };
  const reading = (push: (chunk: Buffer) => void) => (chunk: Buffer) => {
    if (isRefused) return;
    left -= chunk.length;
    if (left < 0) return refuse(`its results are larger than ${listener.limit} bytes`);
    try {
      push(chunk);
    } catch {
      refuse(NOT_OURS);
    }
  };
  const reports = createFrameReader(
    listener.limit,
    (frame) => listener.onReport(parseReport(frame)),
    () => refuse(NOT_OURS),
  );
  const results = resultsReader(listener.limit, listener.onDesired);
  pipes[0]?.on("data", reading(reports.push));
  pipes[1]?.on("data", reading(results.push));
  // Its end is told by its exit.
  for (const pipe of pipes) pipe?.on("error", () => undefined);
  return () => results.isWhole();
}

/** What a report that is none is told as. */
export const NOT_OURS = "wrote to a channel of its process; spec files only return data";
