import { Octokit } from "octokit";
import type { z } from "zod";
import { within } from "./deadline.ts";
import { classify, GitHubFault } from "./fault.ts";
import { limiterOf, pause, type Limiter } from "./limiter.ts";

/** How a client calls; tests make it faster. */
export type ClientOptions = {
  /** Without a slash at the end. */
  apiUrl: string;
  token: string;
  /** Between the end of one write and the next, milliseconds. */
  writeSpacingMs: number;
  /** One attempt of a call, milliseconds. */
  timeoutMs: number;
  /** The first wait before a read is repeated, milliseconds; doubles each time. */
  retryMs: number;
  now(): number;
};

type Parameters = Record<string, unknown>;
/** A list endpoint's page: its items, and how many there are in all where it says so. */
type Page<T> = { items: T[]; total?: number };

const READ_ATTEMPTS = 3;
const PAGE = 100;
/** Pages of one list; what is longer is a gap. */
const MAX_PAGES = 30;
const API_VERSION = "2022-11-28";
const silent = () => undefined;

/**
 * GitHub as this manager calls it: reads are repeated, writes never; every answer has the shape it
 * should have or is no answer; nothing waits for a limit, it is thrown with its wait.
 */
export class GitHubClient {
  readonly #octokit: Octokit;
  readonly #options: ClientOptions;
  readonly #limiter: Limiter;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#limiter = limiterOf(options.apiUrl, options.token);
    this.#octokit = new Octokit({
      auth: options.token,
      baseUrl: options.apiUrl,
      userAgent: "pi-workflows-pull-request",
      log: { debug: silent, info: silent, warn: silent, error: silent },
      // octokit's own retries repeat writes, and its throttling waits for up to an hour.
      retry: { enabled: false },
      throttle: { enabled: false },
    });
  }

  /** @throws GitHubFault */
  async read<T>(
    route: string,
    parameters: Parameters,
    schema: z.ZodType<T>,
    signal: AbortSignal,
  ): Promise<T> {
    return this.#repeated(signal, async () => {
      return shaped(route, schema, await this.#send(route, parameters, signal));
    });
  }

  /**
   * Every page of a list. `total` is what the list says of its own length: the caller compares.
   * @throws GitHubFault
   */
  async readAll<T>(
    route: string,
    parameters: Parameters,
    page: z.ZodType<Page<T>>,
    signal: AbortSignal,
  ): Promise<{ items: T[]; complete: boolean }> {
    const items: T[] = [];
    for (let number = 1; number <= MAX_PAGES; number += 1) {
      const paged = { ...parameters, per_page: PAGE, page: number };
      const next = await this.read(route, paged, page, signal);
      items.push(...next.items);
      if (next.total === undefined ? next.items.length < PAGE : next.items.length === 0) {
        return { items, complete: next.total === undefined || items.length === next.total };
      }
      if (next.total !== undefined && items.length >= next.total) {
        return { items, complete: items.length === next.total };
      }
    }
    return { items, complete: false };
  }

  /**
   * One call, never repeated here. A fault of kind `unreadable` means that it may have been
   * carried out; every other means that it was not.
   * @throws GitHubFault
   */
  async write<T>(
    route: string,
    parameters: Parameters,
    schema: z.ZodType<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const call = async () => shaped(route, schema, await this.#send(route, parameters, signal));
    return this.#limiter.inTurn(call, this.#options.writeSpacingMs, signal);
  }

  /**
   * A GraphQL query; `mutation` goes out as a write does.
   * @throws GitHubFault `unreadable` too where the server has no GraphQL or refuses the query.
   */
  async graphql<T>(
    document: string,
    variables: Parameters,
    schema: z.ZodType<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const call = async () => {
      this.#limiter.check(this.#options.now());
      try {
        const data = await within(this.#options.timeoutMs, signal, (limited) =>
          this.#octokit.graphql(document, { ...variables, request: { signal: limited } }),
        );
        return shaped("GraphQL", schema, data);
      } catch (error) {
        throw this.#graphqlFault(error);
      }
    };
    if (!document.trimStart().startsWith("mutation")) return call();
    return this.#limiter.inTurn(call, this.#options.writeSpacingMs, signal);
  }

  async #repeated<T>(signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
    for (let number = 1; ; number += 1) {
      try {
        return await attempt();
      } catch (error) {
        const again = error instanceof GitHubFault && error.kind === "unreadable";
        if (!again || number >= READ_ATTEMPTS) throw error;
        const waitMs = this.#options.retryMs * 2 ** (number - 1) * (0.5 + Math.random());
        await pause(waitMs, signal);
      }
    }
  }

  async #send(route: string, parameters: Parameters, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted();
    this.#limiter.check(this.#options.now());
    try {
      const { status, headers, data } = await within(this.#options.timeoutMs, signal, (limited) =>
        this.#octokit.request(route, {
          ...parameters,
          headers: { "x-github-api-version": API_VERSION },
          // A renamed repository redirects. It is not followed: its name in the spec is wrong now.
          request: { redirect: "manual", signal: limited },
        }),
      );
      if (status < 300) return data;
      const location = headers.location ?? "";
      throw new GitHubFault("moved", `${route}: moved to ${location}`, { status, location });
    } catch (error) {
      throw this.#fault(route, error);
    }
  }

  #fault(what: string, error: unknown): GitHubFault {
    if (error instanceof GitHubFault) return error;
    const response = (error as { response?: { status: number; headers: object; data: unknown } })
      .response;
    // octokit gives failures of the network the status 500 and no response.
    if (response === undefined) {
      return new GitHubFault("unreadable", `${what}: no answer (${reasonOf(error)})`, {
        cause: error,
      });
    }
    const now = this.#options.now();
    const fault = classify(
      what,
      {
        status: response.status,
        headers: response.headers as Record<string, string>,
        message: messageOf(response.data),
      },
      now,
    );
    if (fault.kind === "limited") this.#limiter.stop(fault, now);
    return fault;
  }

  #graphqlFault(error: unknown): GitHubFault {
    const errors = (error as { errors?: { type?: string; message?: string }[] }).errors;
    if (!Array.isArray(errors)) return this.#fault("GraphQL", error);
    const message = `GraphQL: ${errors.map((one) => one.message ?? one.type).join("; ")}`;
    if (!errors.some(({ type }) => type === "RATE_LIMITED")) {
      return new GitHubFault("unreadable", message.slice(0, 300));
    }
    const headers = (error as { headers?: Record<string, string> }).headers ?? {};
    const answer = { status: 403, headers, message: "API rate limit exceeded" };
    const now = this.#options.now();
    const fault = classify("GraphQL", answer, now);
    this.#limiter.stop(fault, now);
    return fault;
  }
}

/** octokit answers a cut or garbled body with success and a string: only the right shape counts. */
function shaped<T>(what: string, schema: z.ZodType<T>, data: unknown): T {
  const parsed = schema.safeParse(data);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = issue?.path.join(".") || "the answer";
  throw new GitHubFault(
    "unreadable",
    `${what}: ${where} is not as it should be: ${issue?.message}`,
  );
}

function messageOf(data: unknown): string {
  const message = (data as { message?: unknown } | null)?.message;
  return typeof message === "string" ? message.trim() : "no message";
}

function reasonOf(error: unknown): string {
  const cause = (error as { cause?: unknown }).cause;
  const inner = cause instanceof Error ? cause : error;
  const deeper = inner instanceof Error && inner.cause instanceof Error ? inner.cause : inner;
  return deeper instanceof Error ? deeper.message || deeper.name : String(deeper);
}
