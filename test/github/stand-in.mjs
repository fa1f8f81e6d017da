// @ts-check
/**
 * GitHub for tests and the demo, on loopback: `emulate` (state, which we did not write) behind a
 * proxy (faults, corrections, a log of every write that reached GitHub, and a judge that holds
 * every answer against GitHub's OpenAPI description).
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Faults } from "./faults.mjs";
import { judgeAnswer, judgeRequest } from "./openapi.mjs";
import { etagOf, Provider } from "./provider.mjs";
import { Seeds } from "./seeds.mjs";
import { tokenOf, USERS } from "./users.mjs";

/**
 * @typedef {import("./faults.mjs").ProxyRequest} ProxyRequest
 * @typedef {import("./faults.mjs").Answer} Answer
 * @typedef {import("./faults.mjs").FaultRule} FaultRule
 * @typedef {{ method: string, pathname: string, search: string, headers: Record<string, string>, body: any }} SeenRequest
 * @typedef {{ method: string, pathname: string, body: any, status: number, answer: any }} SeenWrite
 * @typedef {{ graphql?: (request: ProxyRequest) => Promise<Answer> }} StandInOptions
 */

/**
 * Starts a stand-in; nothing of it is shared with another. `close` leaves no process or socket.
 * @param {StandInOptions} [options]
 */
export async function startGitHub(options = {}) {
  const standIn = new GitHub(options);
  await standIn.start();
  return standIn;
}

export class GitHub {
  /** Base URL of the REST API; GraphQL is at `/graphql`. */
  url = "";
  faults = new Faults();
  /** Every request that came in, in order. Authorization is masked. @type {SeenRequest[]} */
  requests = [];
  /** Every write that reached GitHub, with what GitHub (not a fault) answered. @type {SeenWrite[]} */
  writes = [];
  /** Where a request or an answer is not as GitHub describes it. @type {string[]} */
  violations = [];
  /** @type {Seeds} */ seeds;

  /** @type {StandInOptions} */ #options;
  /** @type {import("node:child_process").ChildProcess | undefined} */ #child;
  /** @type {import("node:http").Server} */ #server;
  /** @type {Provider} */ #provider;
  #upstream = "";
  #tokens = new Map(USERS.map((login) => [tokenOf(login), login]));

  /** @param {StandInOptions} options */
  constructor(options) {
    this.#options = options;
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error) => {
        this.violations.push(`the stand-in failed: ${error?.stack ?? error}`);
        response.destroy();
      });
    });
    const ask = this.#ask.bind(this);
    this.#provider = new Provider({ upstream: ask, url: "", tokens: this.#tokens });
    this.seeds = new Seeds(ask, this.#provider);
  }

  async start() {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const address = /** @type {import("node:net").AddressInfo} */ (this.#server.address());
    this.url = `http://127.0.0.1:${address.port}`;
    this.#provider = new Provider({
      upstream: this.#ask.bind(this),
      url: this.url,
      tokens: this.#tokens,
    });
    this.seeds = new Seeds(this.#ask.bind(this), this.#provider);
    const child = fork(fileURLToPath(new URL("./emulator-child.mjs", import.meta.url)), [], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
      execArgv: [],
    });
    this.#child = child;
    const tokens = Object.fromEntries(
      [...this.#tokens].map(([token, login]) => [token, { login, scopes: ["repo"] }]),
    );
    const github = { users: USERS.map((login) => ({ login })) };
    child.send({ baseUrl: this.url, seed: { tokens, github } });
    const [message] = await once(child, "message", { signal: AbortSignal.timeout(30_000) });
    this.#upstream = `http://127.0.0.1:${message.port}`;
  }

  async close() {
    const child = this.#child;
    if (child?.connected) {
      const exited = once(child, "exit");
      child.disconnect();
      await exited;
    }
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** One more token, of a user that exists. */
  grant(/** @type {string} */ token, /** @type {string} */ login) {
    this.#tokens.set(token, login);
  }

  /** Switches a fault on. @param {FaultRule} rule */
  fault(rule) {
    return this.faults.add(rule);
  }

  /** Writes that GitHub carried out, by method and path. */
  applied(/** @type {string} */ method, /** @type {RegExp} */ path) {
    return this.writes.filter(
      (write) => write.method === method && path.test(write.pathname) && write.status < 300,
    );
  }

  /** Merges that GitHub carried out: the number that may never exceed one. */
  get merges() {
    return this.applied("PUT", /\/pulls\/\d+\/merge$/);
  }

  /** For the end of each test: forgets everything. @throws where something was not as GitHub describes it */
  endTest() {
    const { violations } = this;
    this.forget();
    if (violations.length > 0)
      throw new Error(`not as GitHub describes:\n${violations.join("\n")}`);
  }

  /** Forgets faults, requests, writes and violations; the repositories stay. */
  forget() {
    this.faults.clear();
    this.requests = [];
    this.writes = [];
    this.violations = [];
  }

  /** @type {import("./provider.mjs").Upstream} */
  async #ask(method, path, { body, token } = {}) {
    const response = await fetch(`${this.#upstream}${path}`, {
      method,
      redirect: "manual",
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    /** @type {Record<string, string>} */
    const headers = {};
    for (const name of [
      "link",
      "x-ratelimit-limit",
      "x-ratelimit-remaining",
      "x-ratelimit-reset",
      "location",
    ]) {
      const value = response.headers.get(name);
      if (value !== null) headers[name] = value;
    }
    return { status: response.status, headers, body: text === "" ? undefined : JSON.parse(text) };
  }

  /**
   * @param {import("node:http").IncomingMessage} incoming
   * @param {import("node:http").ServerResponse} response
   */
  async #serve(incoming, response) {
    const request = await readRequest(incoming);
    this.#remember(request);
    const act = this.faults.take(request.method, request.pathname);
    switch (act?.kind) {
      case undefined:
        return send(response, await this.#real(request), request);
      case "status":
        return send(
          response,
          { status: act.status, headers: act.headers ?? {}, body: act.body },
          request,
        );
      case "reset":
        return void response.destroy();
      case "apply-reset":
        await this.#real(request);
        return void response.destroy();
      case "apply-502":
        await this.#real(request);
        return send(
          response,
          { status: 502, headers: {}, body: { message: "Server Error" } },
          request,
        );
      case "slow":
        await delay(act.ms);
        return send(response, await this.#real(request), request);
      case "hang":
        if (act.after) await this.#real(request);
        return undefined;
      case "truncate":
        return truncated(response, await this.#real(request));
      case "garble":
        return garbled(response, await this.#real(request));
      case "map":
        return send(response, act.map(await this.#real(request)), request);
      case "first":
        await act.run();
        return send(response, await this.#real(request), request);
    }
  }

  /** What GitHub itself answers: judged, and logged if it is a write. @param {ProxyRequest} request */
  async #real(request) {
    const { method, pathname, body } = request;
    const isGraphQL = pathname === "/graphql" || pathname === "/api/graphql";
    if (isGraphQL) return this.#graphql(request);
    const answer = await this.#provider.answer(request);
    if (method !== "GET")
      this.writes.push({ method, pathname, body, status: answer.status, answer: answer.body });
    const wrong = judgeAnswer({ method, pathname, status: answer.status, body: answer.body });
    this.#violation(wrong);
    return answer;
  }

  /** @param {ProxyRequest} request @returns {Promise<Answer>} */
  async #graphql(request) {
    if (this.#options.graphql) return this.#options.graphql(request);
    return { status: 404, headers: {}, body: { message: "Not Found" } };
  }

  #remember(/** @type {ProxyRequest} */ request) {
    const { method, pathname, search, headers, body } = request;
    this.requests.push({ method, pathname, search, headers, body });
    if (pathname.endsWith("/graphql")) return;
    this.#violation(judgeRequest({ method, pathname, body }));
  }

  #violation(/** @type {string | undefined} */ wrong) {
    if (wrong !== undefined && !this.violations.includes(wrong)) this.violations.push(wrong);
  }
}

/** @param {import("node:http").IncomingMessage} incoming @returns {Promise<ProxyRequest>} */
async function readRequest(incoming) {
  /** @type {Buffer[]} */
  const chunks = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("utf8");
  const url = new URL(incoming.url ?? "/", "http://127.0.0.1");
  const authorization = incoming.headers.authorization;
  const headers = Object.fromEntries(
    Object.entries(incoming.headers).map(([name, value]) => [
      name,
      name === "authorization" ? "***" : String(value),
    ]),
  );
  return {
    method: incoming.method ?? "GET",
    pathname: url.pathname,
    search: url.search,
    headers,
    token: authorization?.replace(/^(bearer|token)\s+/i, ""),
    body: text === "" ? undefined : JSON.parse(text),
  };
}

/**
 * @param {import("node:http").ServerResponse} response
 * @param {Answer} answer @param {ProxyRequest} request
 */
function send(response, answer, request) {
  const text = answer.body === undefined ? "" : JSON.stringify(answer.body);
  const etag = etagOf(text);
  if (request.method === "GET" && request.headers["if-none-match"] === etag) {
    response.writeHead(304, { etag });
    response.end();
    return;
  }
  response.writeHead(answer.status, headersOf(answer, text, { etag }));
  response.end(text);
}

/** @param {Answer} answer @param {string} text @param {Record<string, string>} [more] */
function headersOf(answer, text, more = {}) {
  return {
    ...answer.headers,
    ...more,
    ...(text === "" ? {} : { "content-type": "application/json; charset=utf-8" }),
    ...(answer.status === 204 ? {} : { "content-length": String(Buffer.byteLength(text)) }),
  };
}

/** @param {import("node:http").ServerResponse} response @param {Answer} answer */
function truncated(response, answer) {
  const text = JSON.stringify(answer.body ?? {});
  response.writeHead(answer.status, headersOf(answer, text));
  response.write(text.slice(0, Math.floor(text.length / 2)), () => response.destroy());
}

/** @param {import("node:http").ServerResponse} response @param {Answer} answer */
function garbled(response, answer) {
  const text = JSON.stringify(answer.body ?? {});
  const half = text.slice(0, Math.floor(text.length / 2));
  response.writeHead(answer.status, headersOf(answer, half));
  response.end(half);
}
