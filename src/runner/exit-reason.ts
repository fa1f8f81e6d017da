import type { RunnerFault } from "../model/pass.ts";

/** Why a runner ends: set once, the first reason wins. */
export type Reason = { fault: RunnerFault; message: string };

/** What an exit means that nobody asked for. */
export function exitReason(code: number | null, signal: string | null, stderr: string): Reason {
  const said = lastLines(stderr);
  if (stderr.includes("heap out of memory")) {
    return { fault: "out-of-memory", message: "its heap was used up" };
  }
  if (signal !== null) return { fault: "signal", message: `ended by ${signal}${said}` };
  return { fault: "exit", message: `exited with code ${code}${said}` };
}

function lastLines(text: string): string {
  const lines = text.trim().split("\n").slice(-5).join("\n");
  return lines === "" ? "" : `: ${lines}`;
}
