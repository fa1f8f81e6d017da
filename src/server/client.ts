import { lstatSync } from "node:fs";
import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { PiWorkflowsError, type ErrorJson } from "../model/errors.ts";
import { VERSION } from "../model/installation.ts";
import { ANY_VERSION, mismatch, OWN_HEADERS, partyOf } from "./handshake.ts";
import { findSocket, homeAt, type Home } from "./home.ts";
import {
  clientOver,
  PROTOCOL_VERSION,
  ROUTES,
  STREAMS,
  type Client,
  type Hello,
  type StreamName,
  type Transport,
} from "./protocol.ts";

/** How to reach a server. */
export type ConnectOptions = {
  /** The state folder; default `PI_WORKFLOWS_HOME` or `~/.pi/agent/workflows`. */
  home?: string;
  /** Starts a server where none runs. Default false. */
  start?: boolean;
  /** Also speaks to a server of another protocol, which can only say hello and stop. */
  anyVersion?: boolean;
  /** The Node that runs a server which is started. Default this process's own. */
  node?: string;
};

// A server that does not begin to answer by then hangs; a full batch takes well under a second.
const ANSWER_MS = 60_000;

/**
 * A client of the server of a state folder.
 * @throws SERVER_UNREACHABLE, VERSION_MISMATCH
 */
export async function connect(options: ConnectOptions = {}): Promise<Client> {
  const home = homeAt(options.home);
  const client = socketClient(home);
  try {
    const hello = await client.hello();
    if (!options.anyVersion) refuseOther(hello);
    if (!options.start || !hello.stopping) return client;
  } catch (thrown) {
    if (!options.start || !isUnreachable(thrown)) {
      await client.close();
      throw thrown;
    }
  }
  const { startServer } = await import("./start.ts");
  await startServer({ home, node: options.node ?? process.execPath }, async () => {
    try {
      const hello = await client.hello();
      refuseOther(hello);
      return hello.stopping ? "stopping" : "there";
    } catch (thrown) {
      if (isUnreachable(thrown)) return "absent";
      throw thrown;
    }
  });
  return client;
}

function refuseOther(server: Hello): void {
  const error = mismatch({ version: VERSION, protocol: PROTOCOL_VERSION }, server);
  if (error) throw error;
}

/** True where no server answered at all. */
export function isUnreachable(thrown: unknown): boolean {
  return thrown instanceof PiWorkflowsError && thrown.code === "SERVER_UNREACHABLE";
}

/** A client of a state folder, by default the user's, that makes no connection before its first call. */
export function lazyClient(folder?: string): Client {
  return socketClient(homeAt(folder));
}

function socketClient(home: Home): Client {
  return clientOver(socketTransport(home));
}

function socketTransport(home: Home): Transport {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  return {
    async call(route, params) {
      const { method, path } = ROUTES[route];
      const query = method === "GET" ? queryOf(params) : "";
      const body = method === "GET" ? undefined : JSON.stringify(params);
      const response = await send(home, { method, path: path + query, agent, body });
      const text = await readText(response);
      if (!ANY_VERSION.includes(route)) checkVersion(response);
      if (response.statusCode === 200) return answerOf(home, text) as never;
      throw errorOf(home, text);
    },
    stream: (name, params, signal) => readStream(home, name, params, signal) as never,
    close() {
      agent.destroy();
      return Promise.resolve();
    },
  };
}

async function* readStream(
  home: Home,
  name: StreamName,
  params: object,
  signal: AbortSignal,
): AsyncGenerator<unknown> {
  const { parseEvents } = await import("./event-stream.ts");
  if (signal.aborted) return;
  const path = STREAMS[name] + queryOf(params);
  const response = await send(home, { method: "GET", path, body: undefined, signal });
  checkVersion(response);
  if (response.statusCode !== 200) throw errorOf(home, await readText(response));
  try {
    yield* parseEvents(response);
  } catch (thrown) {
    if (!signal.aborted)
      throw thrown instanceof PiWorkflowsError ? thrown : unreachable(home, thrown);
  } finally {
    response.destroy();
  }
}

type Outgoing = {
  method: string;
  path: string;
  body: string | undefined;
  agent?: Agent;
  signal?: AbortSignal;
};

function send(home: Home, { body, ...how }: Outgoing): Promise<IncomingMessage> {
  const socketPath = findSocket(home);
  if (socketPath === undefined) return Promise.reject(unreachable(home, undefined));
  if (isAnothers(socketPath)) return Promise.reject(foreign(socketPath));
  return new Promise((resolve, reject) => {
    const headers = {
      ...OWN_HEADERS,
      ...(body === undefined
        ? {}
        : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
    };
    const outgoing = httpRequest({ ...how, socketPath, headers }, (response) => {
      outgoing.setTimeout(0);
      resolve(response);
    });
    outgoing.setTimeout(ANSWER_MS, () => outgoing.destroy(new Error("no answer in time")));
    outgoing.on("error", (error) => reject(unreachable(home, error)));
    outgoing.end(body);
  });
}

/** Who listens there gets specs, with their secrets, and says what is to be believed. */
function isAnothers(socket: string): boolean {
  if (process.getuid === undefined) return false;
  try {
    return lstatSync(socket).uid !== process.getuid();
  } catch {
    // Why nothing can be reached there is told by the connection.
    return false;
  }
}

function foreign(socket: string): PiWorkflowsError {
  return new PiWorkflowsError("UNSUPPORTED", `${socket} belongs to another user`, {
    hint: "Set PI_WORKFLOWS_HOME to a folder of your own.",
  });
}

function queryOf(params: object): string {
  const pairs = Object.entries(params).filter(([, value]) => value !== undefined);
  if (pairs.length === 0) return "";
  const text = (value: unknown): string =>
    typeof value === "string" ? value : JSON.stringify(value);
  const query = new URLSearchParams();
  for (const [name, value] of pairs) query.set(name, text(value));
  return `?${query.toString()}`;
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function checkVersion(response: IncomingMessage): void {
  const server = partyOf(response.headers);
  const error = server && mismatch({ version: VERSION, protocol: PROTOCOL_VERSION }, server);
  if (error) throw error;
}

function answerOf(home: Home, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw unreachable(home, new Error("what answers is no server of pi-workflows", { cause }));
  }
}

function errorOf(home: Home, text: string): PiWorkflowsError {
  try {
    return PiWorkflowsError.fromJSON((JSON.parse(text) as { error: ErrorJson }).error);
  } catch (cause) {
    return unreachable(home, cause);
  }
}

function unreachable(home: Home, cause: unknown): PiWorkflowsError {
  const reason = cause instanceof Error ? `: ${cause.message}` : "";
  return new PiWorkflowsError("SERVER_UNREACHABLE", `No server answers for ${home.path}${reason}`, {
    cause,
  });
}
