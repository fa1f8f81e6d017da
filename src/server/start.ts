import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { ERRORS, PiWorkflowsError } from "../model/errors.ts";
import { installationUrl, SERVER_FLAGS } from "../model/installation.ts";
import { prepareHome, readInfo, type Home } from "./home.ts";
import { rotateLog } from "./log-file.ts";

// A start takes about half a second; more than this means that something is wrong.
const START_MS = 10_000;
// A server that drains goes on for LIMITS.drainMs and its runners' kill ladder; then it is replaced.
const STOPPING_MS = 30_000;
// A connection attempt costs less than a millisecond.
const ATTEMPT_EVERY_MS = 15;
// An owner of the lock that does not answer is starting, or stopping: then it is to be replaced.
const SPAWN_AGAIN_MS = 250;
const LOG_LINES = 10;

/** Whether a server is there to stay, is there but stops, or is not there. */
export type Presence = "there" | "stopping" | "absent";

/** Where a server is started, and by which Node. */
export type Start = { home: Home; node: string };

/**
 * Starts a server in the background and resolves when one answers: this one, or another client's
 * that was faster (the lock decides, and the loser exits).
 * @throws SERVER_UNREACHABLE with the last lines of the log.
 */
export async function startServer(start: Start, presence: () => Promise<Presence>): Promise<void> {
  const { home } = start;
  writing(home, () => {
    prepareHome(home);
    rotateLog(home.log);
  });
  const begun = performance.now();
  let seenStopping = begun;
  let attempt = spawnServer(start);
  let spawnAt = begun + SPAWN_AGAIN_MS;
  for (;;) {
    const found = await presence();
    if (found === "there") return;
    const now = performance.now();
    if (found === "stopping") seenStopping = now;
    const failure = attempt.failure();
    if (failure !== undefined) throw diskIsFull(home) ?? unreachable(home, failure);
    if (now > Math.min(seenStopping + START_MS, begun + STOPPING_MS)) {
      const waited = Math.round(now - begun);
      if (attempt.lostRace()) throw unheard(home, waited);
      throw unreachable(home, `it did not answer within ${waited} ms`);
    }
    if (attempt.lostRace() && now > spawnAt) {
      attempt = spawnServer(start);
      spawnAt = now + 2 * (now - begun);
    }
    await new Promise((resolve) => void setTimeout(resolve, ATTEMPT_EVERY_MS));
  }
}

type Attempt = {
  /** Why this server did not start. */
  failure: () => string | undefined;
  /** True when it ended because another one owns the lock. */
  lostRace: () => boolean;
};

function spawnServer({ home, node }: Start): Attempt {
  const log = writing(home, () => openSync(home.log, "a", 0o600));
  const child = spawn(
    node,
    [...SERVER_FLAGS, fileURLToPath(installationUrl("dist/server/main.js")), "--background"],
    {
      cwd: home.path,
      detached: true,
      stdio: ["ignore", log, log],
      env: { ...process.env, PI_WORKFLOWS_HOME: home.path },
    },
  );
  closeSync(log);
  let failure: string | undefined;
  let lostRace = false;
  child.on("error", (error) => (failure = error.message));
  child.on("exit", (code, signal) => {
    if (code === ERRORS.SERVER_RUNNING.exit) lostRace = true;
    else failure = `it ended with ${signal ?? `exit code ${code}`}`;
  });
  child.unref();
  return { failure: () => failure, lostRace: () => lostRace };
}

/** @throws PiWorkflowsError STORE_FULL where there is no room for what is written, or no quota left */
function writing<T>(home: Home, write: () => T): T {
  try {
    return write();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    if (!/\b(?:ENOSPC|EDQUOT)\b/.test(reason)) throw cause;
    const hint = `Free some space where ${home.path} is, then repeat.`;
    throw new PiWorkflowsError("STORE_FULL", `The server can't be started: ${reason}`, {
      hint,
      cause,
    });
  }
}

// Less than a new database takes.
const PROBE_BYTES = 64 * 1024;

/** A server that finds no room to write can't say so in its log: whether that is it is tried here. */
function diskIsFull(home: Home): unknown {
  const probe = path.join(home.path, `probe-${process.pid}`);
  try {
    writing(home, () => writeFileSync(probe, Buffer.alloc(PROBE_BYTES)));
    return undefined;
  } catch (thrown) {
    return thrown;
  } finally {
    rmSync(probe, { force: true });
  }
}

function unreachable(home: Home, reason: string): PiWorkflowsError {
  return new PiWorkflowsError(
    "SERVER_UNREACHABLE",
    [`The server could not be started: ${reason}`, ...lastLines(home.log)].join("\n  "),
    { hint: `See ${home.log}.` },
  );
}

/** Another server has the folder, and nobody reaches it: its socket was removed, or it hangs. */
function unheard(home: Home, waited: number): PiWorkflowsError {
  const owner = readInfo(home);
  const process = owner ? `process ${owner.pid}` : "its process";
  return new PiWorkflowsError(
    "SERVER_UNREACHABLE",
    `A server owns ${home.path}, but did not answer at its socket for ${waited} ms`,
    {
      hint: `End ${process} (\`kill\`), then repeat; nothing that was stored is lost. See ${home.log}.`,
    },
  );
}

function lastLines(file: string): string[] {
  try {
    return readFileSync(file, "utf8").trimEnd().split("\n").slice(-LOG_LINES);
  } catch {
    return [];
  }
}
