import type { AgentPort } from "../../model/agent.ts";
import type { Clock, Log } from "../../model/ports.ts";

/** What agents need of the server that starts them. */
export type PiAgentOptions = {
  /**
   * Program and first arguments of Pi: what a person configured, or `["pi"]`. A program without a
   * slash is looked for on the `PATH` of `env`.
   */
  command?: readonly string[];
  /**
   * The server's environment. Pi gets what programs need of it (PATH, HOME, LANG, TMPDIR, proxies,
   * where Pi's own folder is) and nothing else.
   */
  env: NodeJS.ProcessEnv;
  /** The variables of model providers: only Pi gets them. Their values are masked in what it says. */
  credentials?: Readonly<Record<string, string>>;
  /** The state folder: notes of live agents lie under it for the next server, and private files. */
  home: string;
  /** The server's token, by which an agent that outlived its server is told (P-1). */
  token: string;
  log: Log;
  clock: Clock;
  /** Shorter waits, for tests. */
  limits?: Partial<PiLimits>;
};

/** Milliseconds and bytes; those of the product unless a test says otherwise. */
export type PiLimits = {
  /** A Pi that does not answer by then is ended. */
  readyMs: number;
  /** Between asking Pi to stop, SIGTERM and SIGKILL. */
  killGraceMs: number;
  /** One line of Pi's output; of a longer one only the beginning is read. */
  line: number;
};

/**
 * Agents that are real Pis, each a child process in a group of its own. To be called after
 * `reapOrphans`, by the one server that owns `home`.
 *
 * A conversation lives in one Pi, from its first question until it is closed or a question of it
 * fails; questions of one conversation are answered one after the other. All of them must have the
 * tools, the model and the folder of the first.
 */
export function createPiAgents(_options: PiAgentOptions): AgentPort {
  throw new Error("to be built");
}
