import { setMaxListeners } from "node:events";
import { PiWorkflowsError } from "../model/errors.ts";
import { connect, isUnreachable, lazyClient } from "../server/client.ts";
import type { Client } from "../server/protocol.ts";

// A server answers in milliseconds; a person should not wait for one that hangs.
const ANSWER_MS = 15_000;

export type LinkOptions = {
  /** The Node that runs a server which is started. */
  findNode: () => Promise<string>;
  /** Default `ANSWER_MS`. */
  answerMs?: number;
};

/** One session's way to the server: connects when asked, starts it where it is wanted. */
export class Link {
  readonly #options: LinkOptions;
  readonly #end = new AbortController();
  #client: Client | undefined;
  #starting: Promise<void> | undefined;

  constructor(options: LinkOptions) {
    this.#options = options;
    // Node warns of eleven that wait for one signal, in the middle of Pi's screen.
    setMaxListeners(0, this.closed);
  }

  /** Aborts when the link is closed. */
  get closed(): AbortSignal {
    return this.#end.signal;
  }

  /**
   * Asks the server something.
   * @throws PiWorkflowsError as the server threw it, or SERVER_UNREACHABLE where none runs and none
   * is started, or where it does not answer in time
   */
  async ask<T>(question: (client: Client) => Promise<T>, start: boolean): Promise<T> {
    if (start) await this.ensureServer();
    return this.#inTime(question(this.client()));
  }

  /** A client that connects with each call, for streams. */
  client(): Client {
    return (this.#client ??= lazyClient());
  }

  /** Starts the server where none answers. @throws SERVER_UNREACHABLE, VERSION_MISMATCH, UNSUPPORTED */
  async ensureServer(): Promise<void> {
    this.#starting ??= this.#start().finally(() => (this.#starting = undefined));
    await this.#starting;
  }

  async #start(): Promise<void> {
    try {
      const hello = await this.#inTime(this.client().hello());
      if (!hello.stopping) return;
    } catch (thrown) {
      if (!isUnreachable(thrown) || isHanging(thrown)) throw thrown;
    }
    const node = await this.#options.findNode();
    const client = await connect({ start: true, node });
    await client.close();
  }

  async #inTime<T>(answer: Promise<T>): Promise<T> {
    const ms = this.#options.answerMs ?? ANSWER_MS;
    let timer: NodeJS.Timeout | undefined;
    let onAbort = (): void => undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(hanging(ms)), ms);
      onAbort = () => reject(closedError());
      this.closed.addEventListener("abort", onAbort);
      if (this.closed.aborted) onAbort();
    });
    late.catch(() => undefined);
    answer.catch(() => undefined);
    try {
      return await Promise.race([answer, late]);
    } finally {
      clearTimeout(timer);
      this.closed.removeEventListener("abort", onAbort);
    }
  }

  /** Ends what is under way; safe to call twice. */
  close(): void {
    this.#end.abort();
    void this.#client?.close();
  }
}

function hanging(ms: number): PiWorkflowsError {
  return new PiWorkflowsError(
    "SERVER_UNREACHABLE",
    `The server has not answered for ${Math.round(ms / 1_000)} seconds`,
    {
      hint:
        "It hangs, or the machine is very busy. See `pi-workflows server status`; where that does " +
        "not answer either, end its process and it is started anew.",
      details: { hanging: true },
    },
  );
}

/** Whether a server is there that does not answer. */
export function isHanging(thrown: unknown): boolean {
  return thrown instanceof PiWorkflowsError && thrown.details?.["hanging"] === true;
}

function closedError(): PiWorkflowsError {
  return new PiWorkflowsError("SERVER_UNREACHABLE", "The session has ended");
}
