import { createHash } from "node:crypto";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { PiWorkflowsError, toPiWorkflowsError } from "../model/errors.ts";

/** Where everything of one server lives. A port to another system fills the functions below. */
export type Home = {
  path: string;
  database: string;
  /** The store of a backup, complete, which only has to be put in the place of `database`. */
  restored: string;
  lock: string;
  /** What the running server says of itself; never proof that it runs (the lock is). */
  info: string;
  /** What a person may set; see config.ts. */
  config: string;
  bundles: string;
  log: string;
  /** The bundle of an accepted definition, by digest. */
  bundle: (digest: string) => string;
  /** What the workflow of that digest says of itself. */
  workflow: (digest: string) => string;
};

/** Contents of `server.json`. */
export type ServerInfo = {
  pid: number;
  version: string;
  protocol: number;
  startedAt: number;
  socket: string;
};

// sockaddr_un.sun_path with its final NUL: 104 bytes on macOS and the BSDs, 108 on Linux
// (unix(4), unix(7)). The smaller one holds everywhere, so that a home works on both.
const SOCKET_PATH_BYTES = 103;

/** `PI_WORKFLOWS_HOME`, else `~/.pi/agent/workflows`. */
export function defaultHome(env: NodeJS.ProcessEnv = process.env): string {
  const named = env["PI_WORKFLOWS_HOME"];
  return named ? path.resolve(named) : path.join(os.homedir(), ".pi", "agent", "workflows");
}

/** Names the files of the state folder at `folder`; touches nothing. */
export function homeAt(folder: string = defaultHome()): Home {
  const root = path.resolve(folder);
  const bundles = path.join(root, "bundles");
  return {
    path: root,
    database: path.join(root, "state.sqlite"),
    restored: path.join(root, "state.sqlite.restored"),
    lock: path.join(root, "server.lock"),
    info: path.join(root, "server.json"),
    config: path.join(root, "config.json"),
    bundles,
    log: path.join(root, "logs", "server.log"),
    bundle: (digest) => path.join(bundles, `${digest}.mjs`),
    workflow: (digest) => path.join(bundles, `${digest}.json`),
  };
}

/**
 * Makes the state folder and its parts, for this user only.
 * @throws UNSUPPORTED when the folder belongs to someone else or can't be made private.
 */
export function prepareHome(home: Home): void {
  for (const folder of [home.path, home.bundles, path.dirname(home.log)]) privateFolder(folder);
}

/**
 * Where the server listens. A path too long for a socket address goes to a short one in a private
 * folder of the system's temporary folder; `server.json` tells clients, whose TMPDIR may differ.
 */
export function placeSocket(home: Home): string {
  const near = nearSocket(home);
  if (fits(near)) return near;
  const name = `${createHash("sha256").update(home.path).digest("hex").slice(0, 16)}.sock`;
  const folders = [os.tmpdir(), "/tmp"].map((root) => path.join(root, `pi-workflows-${userId()}`));
  const folder = folders.find((candidate) => fits(path.join(candidate, name)));
  if (folder === undefined) {
    throw new PiWorkflowsError("UNSUPPORTED", `${near} is too long for the address of a socket`, {
      hint: "Set PI_WORKFLOWS_HOME to a shorter path.",
    });
  }
  privateFolder(folder);
  return path.join(folder, name);
}

/** Where clients find the socket; undefined where no server has said so yet. */
export function findSocket(home: Home): string | undefined {
  const near = nearSocket(home);
  return fits(near) ? near : readInfo(home)?.socket;
}

function nearSocket(home: Home): string {
  return path.join(home.path, "server.sock");
}

function fits(socket: string): boolean {
  return Buffer.byteLength(socket) <= SOCKET_PATH_BYTES;
}

/** Writes `server.json` whole or not at all. */
export function writeInfo(home: Home, info: ServerInfo): void {
  const draft = `${home.info}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(info, undefined, 2)}\n`, { mode: 0o600 });
  renameSync(draft, home.info);
}

export function readInfo(home: Home): ServerInfo | undefined {
  try {
    return JSON.parse(readFileSync(home.info, "utf8")) as ServerInfo;
  } catch {
    return undefined;
  }
}

export function removeInfo(home: Home): void {
  rmSync(home.info, { force: true });
}

/** Only the current user may enter; an existing folder must be theirs and no link. */
function privateFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (cause) {
    const { message } = toPiWorkflowsError(cause);
    throw new PiWorkflowsError("UNSUPPORTED", `${folder} can't be made: ${message}`, {
      hint: "Set PI_WORKFLOWS_HOME to a folder that you may write.",
      cause,
    });
  }
  const stat = lstatSync(folder);
  const real = stat.isSymbolicLink() ? undefined : stat;
  if (!real?.isDirectory()) {
    throw new PiWorkflowsError("UNSUPPORTED", `${folder} is not a folder`, {
      hint: "Remove it, or set PI_WORKFLOWS_HOME to another path.",
    });
  }
  if (process.getuid && real.uid !== process.getuid()) {
    throw new PiWorkflowsError("UNSUPPORTED", `${folder} belongs to another user`, {
      hint: "Set PI_WORKFLOWS_HOME to a folder of your own.",
    });
  }
  if ((real.mode & 0o077) !== 0) chmodSync(folder, 0o700);
}

function userId(): string {
  return String(process.getuid?.() ?? os.userInfo().username);
}
