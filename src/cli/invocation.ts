import { homedir } from "node:os";
import path from "node:path";
import type { Client } from "../server/protocol.ts";
import type { StoreReader } from "../store/store.ts";
import type { Output } from "./output.ts";

/** One run of the command line, as its action sees it. */
export type Cli = {
  /** Canonical path of the project of the working directory. */
  project: string;
  /** The state folder. */
  home: string;
  output: Output;
  /** The command as typed, for the origin of what it changes: `apply -f specs`. */
  command: string;
  /** Aborts at Ctrl-C. */
  signal: AbortSignal;
  /** Reads the database without a server; empty where there is no database yet. */
  reader(): Promise<StoreReader>;
  /** The server, started where it does not run; with `start: false` undefined where it does not. */
  client(): Promise<Client>;
  client(options: { start: false; anyVersion?: boolean }): Promise<Client | undefined>;
};

/** PI_WORKFLOWS_HOME, or `~/.pi/agent/workflows`. */
export function stateFolder(environment: NodeJS.ProcessEnv = process.env): string {
  const chosen = environment["PI_WORKFLOWS_HOME"];
  return chosen ? path.resolve(chosen) : path.join(homedir(), ".pi", "agent", "workflows");
}
