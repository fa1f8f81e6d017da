import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ERRORS, PiWorkflowsError, toPiWorkflowsError } from "../model/errors.ts";
import { installationUrl } from "../model/installation.ts";
import { prepareHome, type Home } from "./home.ts";
import { rotateLog } from "./log-file.ts";

// A start takes about half a second; more than this means that something is wrong.
const START_MS = 10_000;
// A connection attempt costs less than a millisecond.
const ATTEMPT_EVERY_MS = 15;
// An owner of the lock that does not answer is starting, or stopping: then it is to be replaced.
const SPAWN_AGAIN_MS = 250;
const LOG_LINES = 10;

/**
 * Starts a server in the background and resolves when one answers: this one, or another client's
 * that was faster (the lock decides, and the loser exits). `answers` says whether a server is there
 * to stay.
 * @throws SERVER_UNREACHABLE with the last lines of the log.
 */
export async function startServer(home: Home, answers: () => Promise<boolean>): Promise<void> {
  prepareHome(home);
  rotateLog(home.log);
  const deadline = performance.now() + START_MS;
  let attempt = spawnServer(home);
  let spawnedAt = performance.now();
  for (;;) {
    if (await isThere(answers)) return;
    const { failure, lostRace } = attempt;
    const now = performance.now();
    if (failure() !== undefined) throw unreachable(home, failure() as string);
    if (now > deadline) {
      throw unreachable(home, `it did not answer within ${START_MS / 1000} seconds`);
    }
    if (lostRace() && now - spawnedAt > SPAWN_AGAIN_MS) {
      attempt = spawnServer(home);
      spawnedAt = now;
    }
    await new Promise((resolve) => void setTimeout(resolve, ATTEMPT_EVERY_MS));
  }
}

async function isThere(answers: () => Promise<boolean>): Promise<boolean> {
  try {
    return await answers();
  } catch (thrown) {
    if (toPiWorkflowsError(thrown).code === "SERVER_UNREACHABLE") return false;
    throw thrown;
  }
}

type Attempt = {
  /** Why this server did not start. */
  failure: () => string | undefined;
  /** True when it ended because another one owns the lock. */
  lostRace: () => boolean;
};

function spawnServer(home: Home): Attempt {
  const log = openSync(home.log, "a", 0o600);
  const child = spawn(
    process.execPath,
    [fileURLToPath(installationUrl("dist/server/main.js")), "--background"],
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

function unreachable(home: Home, reason: string): PiWorkflowsError {
  return new PiWorkflowsError(
    "SERVER_UNREACHABLE",
    [`The server could not be started: ${reason}`, ...lastLines(home.log)].join("\n  "),
    { hint: `See ${home.log}.` },
  );
}

function lastLines(file: string): string[] {
  try {
    return readFileSync(file, "utf8").trimEnd().split("\n").slice(-LOG_LINES);
  } catch {
    return [];
  }
}
