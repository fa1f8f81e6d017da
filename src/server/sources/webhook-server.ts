import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { LIMITS } from "../../model/limits.ts";

/** A request to a webhook, whole. */
export type Incoming = { headers: Record<string, string>; body: string };

/** What answers requests. */
export type WebhookRoutes = {
  /** Whether a request to this name is read at all; asked before its body is. */
  admit(name: string): 200 | 404 | 429;
  receive(name: string, incoming: Incoming): Promise<Answer>;
};

/** A status and a word for the sender; never a reason that helps who should not send. */
export type Answer = { status: number; word: string };

/** Between looks at connections whose request is late: Node's own (30 s) would let them stay long. */
const LOOK_AT_LATE_MS = 1_000;
const KEEP_ALIVE_MS = 5_000;
/** Without a byte either way, a reader of answers that stalls included. */
const IDLE_MS = 30_000;

const PATH = /^\/webhooks\/([^/?#]+)\/?(?:\?.*)?$/;

/** Listens on 127.0.0.1 and nowhere else. Rejects where the port is taken. */
export function listenForWebhooks(
  port: number,
  routes: WebhookRoutes,
): Promise<{ port: number; close(): Promise<void> }> {
  let own = port;
  const server = createServer(
    {
      maxHeaderSize: LIMITS.webhookHeaders,
      requestTimeout: LIMITS.webhookMs,
      headersTimeout: LIMITS.webhookMs,
      connectionsCheckingInterval: LOOK_AT_LATE_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    answering(routes, () => own),
  );
  server.maxConnections = LIMITS.webhookConnections;
  server.setTimeout(IDLE_MS);
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => {
      server.off("error", reject);
      own = (server.address() as AddressInfo).port;
      resolve({ port: own, close: () => close(server) });
    });
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function answering(routes: WebhookRoutes, port: () => number): RequestListener {
  return (request, response) => {
    void (async () => {
      const refused = refusal(request, port());
      const name = nameOf(request);
      const answer = refused ?? (await answerTo(routes, name, request));
      send(request, response, answer);
    })().catch(() => {
      // The sender is gone; there is nobody to answer.
      response.destroy();
    });
  };
}

async function answerTo(
  routes: WebhookRoutes,
  name: string,
  request: IncomingMessage,
): Promise<Answer> {
  const admitted = routes.admit(name);
  if (admitted === 404) return { status: 404, word: "unknown" };
  if (admitted === 429) return { status: 429, word: "too many" };
  const body = await readBody(request);
  if (typeof body !== "string") return body;
  return routes.receive(name, { headers: headersOf(request), body });
}

function nameOf({ url = "" }: IncomingMessage): string {
  return PATH.exec(url)?.[1] ?? "";
}

/**
 * What can be told from the head alone. A page in a browser on this machine can reach the port, but
 * it can't leave out its Origin, and one that came by a name of its own (DNS rebinding) shows it in
 * Host.
 */
function refusal(request: IncomingMessage, port: number): Answer | undefined {
  const { method, headers } = request;
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
  if (!hosts.includes((headers.host ?? "").toLowerCase()) || headers.origin !== undefined) {
    return { status: 403, word: "forbidden" };
  }
  if (nameOf(request) === "") return { status: 404, word: "unknown" };
  if (method !== "POST") return { status: 405, word: "POST only" };
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    return { status: 415, word: "unsupported" };
  }
  return Number(headers["content-length"] ?? 0) > LIMITS.webhookBody ? TOO_LARGE : undefined;
}

const TOO_LARGE: Answer = { status: 413, word: "too large" };

async function readBody(request: IncomingMessage): Promise<string | Answer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > LIMITS.webhookBody) return TOO_LARGE;
    chunks.push(chunk);
  }
  try {
    // What was signed are the bytes: they must come back from the text, a byte order mark included.
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return decoder.decode(Buffer.concat(chunks));
  } catch {
    return { status: 400, word: "not UTF-8" };
  }
}

function headersOf(request: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return headers;
}

function send(request: IncomingMessage, response: ServerResponse, { status, word }: Answer): void {
  const text = `${JSON.stringify(status < 300 ? { status: word } : { error: word })}\n`;
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-store",
    ...(status === 405 ? { allow: "POST" } : {}),
    ...(status === 429 ? { "retry-after": "60" } : {}),
    // What is left of a body that was not read must not be taken for the next request.
    ...(request.complete ? {} : { connection: "close" }),
  });
  response.end(text);
}
