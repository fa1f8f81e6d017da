import { spawn, type ChildProcess } from "node:child_process";
import type { Duplex } from "node:stream";
import path from "node:path";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { CHANNEL_FD } from "./protocol.ts";

/** Set in every runner's environment: the server's token, by which orphans are told (P-1). */
export const RUNNER_TOKEN = "PI_WORKFLOWS_RUNNER";

export type SpawnOptions = {
  bundlePath: string;
  /**
   * The runner's whole environment. Definitions need the user's: PATH, HOME, GITHUB_TOKEN. It goes
   * by the environment only, never by arguments, which every user of the machine can read.
   */
  env: NodeJS.ProcessEnv;
  token: string;
  heapMiB: number;
};

/** `channel` is absent where the system could not start a process; then `child` emits `error`. */
export type SpawnedRunner = { child: ChildProcess; channel: Duplex | undefined };

/** Starts a runner as the leader of a process group of its own. */
export function spawnRunner(options: SpawnOptions): SpawnedRunner {
  const child = spawn(
    process.execPath,
    [`--max-old-space-size=${options.heapMiB}`, YOUNG_HEAP, childProgram(), options.bundlePath],
    {
      cwd: path.dirname(options.bundlePath),
      env: { ...options.env, [RUNNER_TOKEN]: options.token },
      detached: true,
      stdio: ["ignore", "pipe", "pipe", "pipe"],
    },
  );
  // Where files or processes have run out, Node makes no streams at all.
  const streams = child.stdio as ChildProcess["stdio"] | undefined;
  return { child, channel: streams?.[CHANNEL_FD] as Duplex | undefined };
}

// Passes make short-lived garbage: by default V8 lets it grow to 16 MiB a semi-space before it looks,
// which more than doubles a warm runner's memory and wins no time (43 MiB against 21, measured over
// 60,000 passes).
const YOUNG_HEAP = "--max-semi-space-size=2";

/** The built program of a runner, from built code and from sources alike. */
function childProgram(): string {
  const here = path.dirname(fileURLToPath(import.meta.url));
  for (let folder = here; folder !== path.dirname(folder); folder = path.dirname(folder)) {
    const program = path.join(folder, "dist/runner/child.js");
    if (existsSync(program)) return program;
  }
  throw new Error("dist/runner/child.js is missing: run `npm run build`");
}
