import { chmodSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { fastify, type FastifyError, type FastifyInstance, type FastifyReply } from "fastify";
import { ERRORS, PiWorkflowsError, toPiWorkflowsError } from "../model/errors.ts";
import { LIMITS } from "../model/limits.ts";
import type { Dispatch } from "./dispatch.ts";
import { refuseOtherVersions, stampVersion } from "./handshake.ts";
import { ROUTES, STREAMS, type RouteName, type StreamName } from "./protocol.ts";
import { readStreamParams } from "./request.ts";
import { sendStream } from "./server-sent.ts";

// A client on this machine sends its whole request at once; a stalled one gives its place back.
const REQUEST_TIMEOUT_MS = 30_000;
// Longer than the pauses of a person between two commands of one client.
const KEEP_ALIVE_MS = 60_000;
const CONNECTIONS = 512;

const ROUTE_LIST = [
  ...Object.values(ROUTES).map(({ method, path }) => `${method} ${path}`),
  ...Object.values(STREAMS).map((path) => `GET ${path} (stream)`),
].join(", ");

export type HttpOptions = {
  dispatch: Dispatch;
  /** Path of the Unix socket. */
  socket: string;
};

/**
 * Serves the routes over a Unix socket that only this user may open.
 * Returns the function that closes it; open streams must have been ended before.
 */
export async function serveHttp(options: HttpOptions): Promise<() => Promise<void>> {
  const app = createApp(options.dispatch);
  // The lock is held, so a socket file here is of a server that died.
  rmSync(options.socket, { force: true });
  await app.listen({ path: options.socket });
  // Until here only the folder's mode protects it, which is enough.
  chmodSync(options.socket, 0o600);
  return async () => {
    await app.close();
    rmSync(options.socket, { force: true });
  };
}

function createApp(dispatch: Dispatch): FastifyInstance {
  const app = fastify({
    bodyLimit: LIMITS.requestBody,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    // A plain name like others, where no value is merged into another. `__proto__` is refused.
    onConstructorPoisoning: "ignore",
  });
  app.server.maxConnections = CONNECTIONS;
  app.server.headersTimeout = REQUEST_TIMEOUT_MS;
  app.addHook("onRequest", (request, reply, done) => {
    stampVersion(reply);
    // Who forwards the socket to a port opens it to pages in a browser, which can't leave this out.
    if (request.headers.origin !== undefined) {
      return done(new PiWorkflowsError("BAD_REQUEST", "Requests of pages are not answered"));
    }
    done(refuseOtherVersions(request.headers, request.url));
  });
  app.setErrorHandler((thrown, _request, reply) => sendError(reply, codedError(thrown)));
  app.setNotFoundHandler((request, reply) =>
    sendError(
      reply,
      new PiWorkflowsError("NOT_FOUND", `${request.method} ${request.url} is no route`, {
        hint: `The routes: ${ROUTE_LIST}.`,
      }),
    ),
  );
  // Where scrapers look. Only this user can reach it, as all that the socket serves.
  app.get("/metrics", async (_request, reply) => {
    const { text } = await dispatch.call("metrics", {});
    return reply.type("text/plain; version=0.0.4; charset=utf-8").send(text);
  });
  for (const name of Object.keys(ROUTES) as RouteName[]) addRoute(app, dispatch, name);
  for (const name of Object.keys(STREAMS) as StreamName[]) addStream(app, dispatch, name);
  return app;
}

function addRoute(app: FastifyInstance, dispatch: Dispatch, name: RouteName): void {
  const { method, path } = ROUTES[name];
  app.route({
    method,
    url: path,
    handler: ({ query, body }) => dispatch.call(name, method === "GET" ? query : (body ?? {})),
  });
}

function addStream(app: FastifyInstance, dispatch: Dispatch, name: StreamName): void {
  app.route({
    method: "GET",
    url: STREAMS[name],
    handler: async (request, reply) => {
      const read = readStreamParams(name, request.query);
      const params = { ...read, ...resumedFrom(name, request.headers["last-event-id"]) };
      reply.hijack();
      await sendStream(withVersion(reply), (signal) => dispatch.stream(name, params, signal));
    },
  });
}

// A client that lost its connection says what it saw last (WHATWG HTML, "Server-sent events").
function resumedFrom(name: StreamName, lastEventId: unknown): { after?: number } {
  const after = Number(lastEventId);
  return name === "events" && typeof lastEventId === "string" && Number.isSafeInteger(after)
    ? { after }
    : {};
}

function withVersion(reply: FastifyReply): ServerResponse {
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
  return reply.raw;
}

function codedError(thrown: unknown): PiWorkflowsError {
  if (thrown instanceof PiWorkflowsError) return thrown;
  const { code, statusCode, message } = thrown as Partial<FastifyError>;
  if (code === "FST_ERR_CTP_INVALID_JSON_BODY") {
    return new PiWorkflowsError(
      "BAD_REQUEST",
      "The body is no JSON, or has a member named __proto__, which is not allowed",
    );
  }
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE") {
    return new PiWorkflowsError(
      "TOO_LARGE",
      `The request is larger than ${LIMITS.requestBody} bytes`,
    );
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new PiWorkflowsError("BAD_REQUEST", message ?? "The request can't be read");
  }
  return toPiWorkflowsError(thrown);
}

function sendError(reply: FastifyReply, error: PiWorkflowsError): FastifyReply {
  return reply.code(ERRORS[error.code].http).send({ error: error.toJSON() });
}
