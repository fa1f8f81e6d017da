import { execFile } from "node:child_process";
import { existsSync, lstatSync, readdirSync, readFileSync, statfsSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import Database from "better-sqlite3";
import { plainEnvironment } from "../model/environment.ts";
import { PiWorkflowsError, toPiWorkflowsError } from "../model/errors.ts";
import { startTimeOf } from "../runner/process-table.ts";
import { refuseNetworkFolder, requireSqlite, sqliteVersion } from "../store/sqlite/database.ts";
import { survey } from "../store/sqlite/survey.ts";
import { isRestoring } from "./backup.ts";
import { connect } from "./client.ts";
import { readConfig, type Config } from "./config.ts";
import { judge, type Facts, type Finding, type Tool } from "./doctor-checks.ts";
import { findSocket, homeAt, readInfo, type Home } from "./home.ts";

export type { Finding };

/** What was found, worst first within the order of the checks; `ok` where nothing is a problem. */
export type Diagnosis = { home: string; ok: boolean; findings: Finding[] };

/**
 * Looks at an installation: its programs, its state folder, its store, and what waits in it. Changes
 * nothing, needs no server, and answers whatever state they are in.
 */
export async function examine(folder: string): Promise<Diagnosis> {
  const home = homeAt(folder);
  const findings = judge(await gather(home));
  return { home: home.path, ok: findings.every(({ level }) => level !== "problem"), findings };
}

async function gather(home: Home): Promise<Facts> {
  const config = configOf(home);
  const { piCommand } = config;
  const [server, git, pi] = await Promise.all([
    serverOf(home),
    toolOf("git", ["--version"]),
    toolOf(piCommand[0] as string, [...piCommand.slice(1), "--version"]),
  ]);
  const store = survey(home.database);
  return {
    now: Date.now(),
    node: process.versions.node,
    sqlite: sqliteOf(),
    folder: folderOf(home),
    config: config.fact,
    server,
    git,
    pi,
    restoring: isRestoring(home),
    ...(store === undefined ? {} : { store }),
    missingCode: (store?.digests ?? []).filter((digest) => !existsSync(home.bundle(digest))),
    orphans: server.state === "answers" ? [] : orphansOf(home),
  };
}

/** Version and, where it is too old, what to do. */
function sqliteOf(): Facts["sqlite"] {
  const database = new Database(":memory:");
  try {
    const version = sqliteVersion(database);
    return { version, ...faultOf(() => requireSqlite(version)) };
  } finally {
    database.close();
  }
}

function folderOf(home: Home): Facts["folder"] {
  const found = lstatSync(home.path, { throwIfNoEntry: false });
  if (found === undefined) return { path: home.path, exists: false };
  const { bavail, bsize } = statfsSync(home.path);
  return {
    path: home.path,
    exists: true,
    isFolder: found.isDirectory(),
    isOwn: process.getuid === undefined || found.uid === process.getuid(),
    mode: found.mode & 0o777,
    freeBytes: bavail * bsize,
    ...faultOf(() => refuseNetworkFolder(home.path)),
  };
}

function faultOf(check: () => void): { fault?: string; hint?: string } {
  try {
    check();
    return {};
  } catch (thrown) {
    const { message, hint } = toPiWorkflowsError(thrown);
    return { fault: message, hint };
  }
}

function configOf(home: Home): { fact: Facts["config"]; piCommand: string[] } {
  let config: Config = {};
  const fact = faultOf(() => (config = readConfig(home.config)));
  return { fact, piCommand: config.pi?.command ?? ["pi"] };
}

async function serverOf(home: Home): Promise<Facts["server"]> {
  const info = readInfo(home);
  const isAlive = info !== undefined && startTimeOf(info.pid) !== undefined;
  const socket = findSocket(home);
  try {
    const client = await connect({ home: home.path });
    const { pid, version } = await client.hello();
    await client.close();
    return { state: "answers", pid, version };
  } catch (thrown) {
    const error = thrown instanceof PiWorkflowsError ? thrown : undefined;
    if (error?.code === "VERSION_MISMATCH") return { state: "other", message: error.message };
    if (isAlive) return { state: "silent", pid: info.pid };
    const isLeft = info !== undefined || (socket !== undefined && existsSync(socket));
    return { state: isLeft ? "died" : "absent" };
  }
}

const TOOL_MS = 10_000;

/** What a program says of its version; absent where it is not there. */
async function toolOf(program: string, args: string[]): Promise<Tool> {
  try {
    const options = { timeout: TOOL_MS, env: plainEnvironment(process.env) };
    const { stdout, stderr } = await promisify(execFile)(program, args, options);
    const version = /\d+\.\d+(?:\.\d+)?/.exec(stdout || stderr)?.[0];
    return version === undefined
      ? { program, fault: "it does not say its version" }
      : { program, version };
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException;
    return {
      program,
      fault: code === "ENOENT" ? "it is not installed" : (message.split("\n")[0] as string),
    };
  }
}

/** Runners whose server is gone; the next start ends them. */
function orphansOf(home: Home): number[] {
  const folder = path.join(home.path, "runners");
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.flatMap((name) => {
    try {
      const text = readFileSync(path.join(folder, name), "utf8");
      const { pid, startTime } = JSON.parse(text) as { pid: number; startTime: string };
      return startTimeOf(pid) === startTime ? [pid] : [];
    } catch {
      return [];
    }
  });
}
