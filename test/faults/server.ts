import { spawn, type ChildProcess } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { onTestFinished } from "vitest";
import { connect } from "../../src/server/client.ts";
import type { Client } from "../../src/server/protocol.ts";
import { eventually, isAlive, MAIN } from "../server/server-process.ts";
import { tempFolder } from "../server/temp.ts";

export type Ended = { code: number | null; signal: string | null };

/** A server process that faults happen to; started anew on the same state folder as often as needed. */
export class FaultyServer {
  readonly home: string;
  readonly #env: NodeJS.ProcessEnv;
  #child: ChildProcess | undefined;
  #exited: Promise<Ended> = Promise.resolve({ code: null, signal: null });
  #client: Client | undefined;
  #output = "";

  constructor({ home = path.join(tempFolder(), "home"), env = {} } = {}) {
    this.home = home;
    this.#env = env;
    onTestFinished(() => this.#close());
  }

  /** Starts it and waits until it answers. */
  async start(): Promise<this> {
    await this.launch();
    try {
      this.#client = await eventually(
        () => connect({ home: this.home }),
        () => {
          if (this.hasEnded) throw new Error("the server ended");
        },
      );
    } catch (cause) {
      throw new Error(`${String(cause)}\n${this.output}\n${this.#log()}`, { cause });
    }
    return this;
  }

  /** Starts it without waiting for anything. */
  async launch(): Promise<void> {
    await this.#client?.close();
    this.#output = "";
    const child = spawn(process.execPath, [MAIN], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...process.env, PI_WORKFLOWS_HOME: this.home, ...this.#env },
    });
    this.#child = child;
    child.stderr.on("data", (chunk: Buffer) => (this.#output += chunk.toString()));
    this.#exited = new Promise((done) => {
      child.once("close", (code, signal) => done({ code, signal }));
    });
  }

  get client(): Client {
    if (!this.#client) throw new Error("the server was not started");
    return this.#client;
  }

  get pid(): number {
    return this.#child?.pid as number;
  }

  /** What it wrote to standard error since it was started. */
  get output(): string {
    return this.#output;
  }

  get hasEnded(): boolean {
    return this.#child?.exitCode !== null || this.#child.signalCode !== null;
  }

  get ended(): Promise<Ended> {
    return this.#exited;
  }

  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name);
  }

  async end(name: NodeJS.Signals): Promise<Ended> {
    this.signal(name);
    return this.#exited;
  }

  /** Live runners that it noted. */
  runners(): number[] {
    const folder = path.join(this.home, "runners");
    const names = existsSync(folder) ? readdirSync(folder) : [];
    return names.map((name) => Number.parseInt(name, 10)).filter(isAlive);
  }

  resolvers(): number[] {
    return childrenOf(this.pid).filter((pid) => argumentsOf(pid).includes("resolver-child.js"));
  }

  /** Damage that is found in the database of a server that is dead, or in that of a live one. */
  damage(): string[] {
    if (this.#child && !this.hasEnded) return damageIn(path.join(this.home, "state.sqlite"));
    const copy = mkdtempSync(path.join(this.home, "copy-"));
    try {
      for (const file of ["state.sqlite", "state.sqlite-wal"]) {
        const from = path.join(this.home, file);
        if (existsSync(from)) cpSync(from, path.join(copy, file));
      }
      return damageIn(path.join(copy, "state.sqlite"));
    } finally {
      rmSync(copy, { recursive: true });
    }
  }

  #log(): string {
    const file = path.join(this.home, "logs/server.log");
    return existsSync(file) ? readFileSync(file, "utf8").slice(-4_000) : "";
  }

  async #close(): Promise<void> {
    this.signal("SIGCONT");
    await this.end("SIGKILL");
    await this.#client?.close();
  }
}

function damageIn(file: string): string[] {
  const database = new Database(file, { timeout: 10_000 });
  try {
    const found = database.pragma("integrity_check", { simple: true });
    const dangling = database.pragma("foreign_key_check") as object[];
    return [
      ...(found === "ok" ? [] : [String(found)]),
      ...dangling.map((row) => JSON.stringify(row)),
    ];
  } finally {
    database.close();
  }
}

export function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
    return text === "" ? [] : text.split(" ").map(Number);
  } catch {
    return [];
  }
}

function argumentsOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

/** Sends a signal; false where there is no such process any more. */
export function send(pid: number, name: NodeJS.Signals): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false;
  }
}
