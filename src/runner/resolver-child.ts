// The resolver's child process: loads what one request asks for, reports, and exits.
import { Socket } from "node:net";
import { PiWorkflowsError } from "../model/errors.ts";
import { bundler } from "../sources/bundler.ts";
import { load, type LoadSink } from "../sources/load.ts";
import { createFrameReader, encodeFrame } from "./frames.ts";
import { markWriter } from "./resolver-marks.ts";
import type { ResolverReport, ResolverRequest } from "./resolver-protocol.ts";
import { writeResults } from "./resolver-results.ts";

const exit: (code: number) => never = process.exit.bind(process);
/** REPORTS_FD of resolver-protocol.ts, whose checks are the parent's. */
const FD = 3;
let isAsked = false;
const channel = openChannel();
channel.on("error", killGroup).on("close", killGroup);
channel.on(
  "data",
  createFrameReader(
    Number.MAX_SAFE_INTEGER,
    (request) => {
      isAsked = true;
      void answer(JSON.parse(request) as ResolverRequest);
    },
    killGroup,
  ).push,
);
// Started ahead, it has time to start the bundler, which every load needs.
setTimeout(() => {
  // Whatever is wrong with it, the load will meet it again.
  if (!isAsked)
    bundler()
      .transform("")
      .catch(() => undefined);
}, 0).unref();

async function answer(request: ResolverRequest): Promise<void> {
  try {
    await load(request, sinkOf(request));
    await report({ kind: "done" });
  } catch (thrown) {
    const message = thrown instanceof Error ? messageOf(thrown) : String(thrown);
    await report({ kind: "failed", message });
  }
  exit(0);
}

/** What went wrong as people should know it; where in this program only for mistakes of its own. */
function messageOf(error: Error): string {
  return error instanceof PiWorkflowsError ? error.message : (error.stack ?? error.message);
}

/** Ends this process, whatever project code has made of it, with all that such code started. */
function killGroup(): void {
  try {
    process.kill(-process.pid, "SIGKILL");
  } catch {
    // Not the leader of a group of its own.
    process.kill(process.pid, "SIGKILL");
  }
}

function openChannel(): Socket {
  try {
    return new Socket({ fd: FD, readable: true, writable: true });
  } catch {
    console.error("This program is started by pi-workflows itself.");
    return exit(2);
  }
}

function sinkOf({ exactMarks }: ResolverRequest): LoadSink {
  let mark = markWriter(exactMarks);
  return {
    onFile: (file) => mark(file),
    desired: writeResults,
    managers: (items) => report({ kind: "managers", items }),
    problems: (items) => report({ kind: "problems", items }),
    files: (items) => report({ kind: "files", items }),
    imports: (items) => report({ kind: "imports", items }),
    specsLoaded() {
      // Few files follow, and which one it was decides what is kept.
      mark = markWriter(true);
      return report({ kind: "specsLoaded" });
    },
    workflows: (found) => report({ kind: "workflows", ...found }),
  };
}

/** Resolves when the report has left this process, so that reports do not pile up in memory. */
function report(message: ResolverReport): Promise<void> {
  return new Promise((resolve, reject) => {
    channel.write(encodeFrame(message), (error) => (error ? reject(error) : resolve()));
  });
}
