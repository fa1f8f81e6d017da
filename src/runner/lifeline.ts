import { spawn } from "node:child_process";
import type { Writable } from "node:stream";

/**
 * Waits for a line or the end of its input. The end without a line means that the server is dead.
 * A runner ends by itself when its channel closes, but not while its event loop is blocked, by an
 * endless loop or a synchronous command, and nothing but another process can see that.
 */
const WATCH = `read -r _ && exit; kill -s KILL -- "-$1"`;

/**
 * As `WATCH`, for what ends by itself when it is asked, in two seconds at most; then also for what it
 * started in other groups, which on Linux is found by its mark, `NAME=VALUE` in the environment.
 */
const WATCH_AND_ASK = `read -r _ && exit
kill -s TERM -- "-$1"; sleep 2; kill -s KILL -- "-$1"
grep -lsxzF -e "$2" /proc/[0-9]*/environ | while IFS=/ read -r _ _ pid _; do kill -s KILL "$pid"; done`;

/** A process that ends by itself when it is asked. */
export type Asked = {
  /**
   * Its input, which stays open until it is asked: Pi ends when its input does, but only asked by
   * SIGTERM does it also end the commands that it runs in groups of their own.
   */
  input: Writable;
  /** `NAME=VALUE`, in the environment of all that it starts. */
  mark: string;
};

const NAME = "pi-workflows-lifeline";

/**
 * Makes the process group `pid` die with this process, whatever either is doing (P-1). Returns what
 * ends the watch, to be called when the group is gone.
 */
export function holdLifeline(pid: number, asked?: Asked): () => void {
  const args = asked ? [WATCH_AND_ASK, NAME, `${pid}`, asked.mark] : [WATCH, NAME, `${pid}`];
  const watcher = spawn("/bin/sh", ["-c", ...args], {
    // Of a group of its own, so that an interrupt from the terminal does not end the watch first.
    detached: true,
    env: {},
    stdio: ["pipe", "ignore", "ignore", asked?.input ?? "ignore"],
  });
  // Without a shell the runner's own watch of its channel has to do.
  watcher.on("error", () => {});
  watcher.stdin?.on("error", () => {});
  return () => watcher.stdin?.end("\n");
}
