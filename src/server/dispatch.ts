import type { z } from "zod";
import { PiWorkflowsError, toPiWorkflowsError } from "../model/errors.ts";
import type { Log } from "../model/ports.ts";
import type { Handlers } from "./handlers.ts";
import type { Params, Result, RouteName, StreamApi, StreamName, Transport } from "./protocol.ts";
import { REQUESTS, STREAM_REQUESTS } from "./protocol-schemas.ts";
import { parseRequest } from "./request.ts";
import { streamEvents, streamWatch, type StreamSources } from "./streams.ts";

/** The server's routes and streams, whoever calls them. */
export type Dispatch = {
  call<R extends RouteName>(route: R, params: Params<R>): Promise<Result<R>>;
  stream<S extends StreamName>(
    stream: S,
    params: StreamApi[S]["params"],
    signal: AbortSignal,
  ): AsyncIterable<StreamApi[S]["item"]>;
  /** Calls and streams under way. */
  open(): number;
  /** When the latest call or stream began or ended, on the monotonic clock. */
  lastUsedAt(): number;
};

export type DispatchOptions = {
  handlers: Handlers;
  sources: StreamSources;
  log: Log;
  /** Aborts when the server stops: streams end, and calls that would change something are refused. */
  stopping: AbortSignal;
};

/** Routes that answer while the server stops. */
const ALWAYS: readonly RouteName[] = ["hello", "status", "stop"];

/** Binds routes to handlers, counts who is there, and turns what is thrown into typed errors. */
export function createDispatch({ handlers, sources, log, stopping }: DispatchOptions): Dispatch {
  let open = 0;
  let lastUsedAt = sources.clock.monotonic();
  const enter = (): (() => void) => {
    open += 1;
    lastUsedAt = sources.clock.monotonic();
    return () => {
      open -= 1;
      lastUsedAt = sources.clock.monotonic();
    };
  };
  const refuseIfStopping = (route: string): void => {
    if (!stopping.aborted || ALWAYS.includes(route as RouteName)) return;
    throw new PiWorkflowsError("SERVER_STOPPING", "The server is stopping");
  };
  return {
    async call(route, params) {
      const leave = enter();
      try {
        refuseIfStopping(route);
        return await handlers[route](params);
      } catch (thrown) {
        throw logged(log, route, thrown);
      } finally {
        leave();
      }
    },
    async *stream(name, params, signal) {
      const leave = enter();
      try {
        refuseIfStopping(name);
        yield* openStream(sources, name, params, AbortSignal.any([signal, stopping]));
      } catch (thrown) {
        throw logged(log, name, thrown);
      } finally {
        leave();
      }
    },
    open: () => open,
    lastUsedAt: () => lastUsedAt,
  };
}

/** A client's way in without a socket: same schemas, same handlers. */
export function localTransport(dispatch: Dispatch): Transport {
  return {
    call: async (route, params) =>
      dispatch.call(route, parseRequest<typeof params>(schemaOf(REQUESTS, route), params)),
    stream: (stream, params, signal) =>
      dispatch.stream(
        stream,
        parseRequest<typeof params>(schemaOf(STREAM_REQUESTS, stream), params),
        signal,
      ),
    close: () => Promise.resolve(),
  };
}

// Which schema goes with which route is checked where the table is written.
function schemaOf<T>(table: Record<string, z.ZodType>, name: string): z.ZodType<T> {
  return table[name] as z.ZodType<T>;
}

function openStream<S extends StreamName>(
  sources: StreamSources,
  name: S,
  params: StreamApi[S]["params"],
  signal: AbortSignal,
): AsyncIterable<StreamApi[S]["item"]> {
  return name === "events"
    ? streamEvents(sources, params as StreamApi["events"]["params"], signal)
    : streamWatch(sources, params as StreamApi["watch"]["params"], signal);
}

// Errors that callers can meet are theirs to show; what nobody expected is written down here, once.
function logged(log: Log, route: string, thrown: unknown): PiWorkflowsError {
  const error = toPiWorkflowsError(thrown);
  if (error.code === "INTERNAL")
    log.error("A request failed", { route, error: error.cause ?? error });
  return error;
}
