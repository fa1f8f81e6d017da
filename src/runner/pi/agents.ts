import { rmSync } from "node:fs";
import path from "node:path";
import type { AgentPort } from "../../model/agent.ts";
import { LIMITS } from "../../model/limits.ts";
import type { Clock, Log } from "../../model/ports.ts";
import { SHORTEST_SECRET } from "../../model/secret-text.ts";
import { failed } from "./answer.ts";
import { Conversation, type ConversationServices } from "./conversation.ts";
import { createPiFinder } from "./installation.ts";

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
export function createPiAgents(options: PiAgentOptions): AgentPort {
  const services = servicesOf(options);
  const conversations = new Map<string, Conversation>();
  const nameOf = (runId: string, conversation: string): string => `${runId}\n${conversation}`;
  let isStopped = false;

  // Left by a server that was killed.
  rmSync(services.files, { recursive: true, force: true });
  return {
    async ask(request, onText, signal) {
      if (isStopped) return failed("Cancelled", "The server stops");
      const name = nameOf(request.runId, request.conversation);
      let conversation = conversations.get(name);
      if (!conversation?.isOpen) {
        conversation = new Conversation(services, request);
        conversations.set(name, conversation);
      }
      return conversation.ask({ request, onText, signal });
    },
    async close(runId, conversation) {
      const name = nameOf(runId, conversation);
      await conversations.get(name)?.close();
      conversations.delete(name);
    },
    alive: () => [...conversations.values()].filter(({ isAlive }) => isAlive).length,
    async stop() {
      isStopped = true;
      services.finder.stop();
      await Promise.all([...conversations.values()].map((conversation) => conversation.close()));
      conversations.clear();
    },
  };
}

function servicesOf(options: PiAgentOptions): ConversationServices {
  return {
    ...options,
    limits: {
      readyMs: LIMITS.readyMs,
      killGraceMs: LIMITS.killGraceMs,
      line: LIMITS.runnerMessage,
      ...options.limits,
    },
    finder: createPiFinder(options),
    files: path.join(options.home, "agents"),
    secrets: Object.values(options.credentials ?? {})
      .filter(({ length }) => length >= SHORTEST_SECRET)
      .sort((one, other) => other.length - one.length),
  };
}
