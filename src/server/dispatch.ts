import { PiWorkflowsError, toPiWorkflowsError } from "../model/errors.ts";
import type { Log } from "../model/ports.ts";
import type { Handlers } from "./handlers.ts";
import type { Result, RouteName, StreamApi, StreamName, Transport } from "./protocol.ts";
import { readParams, readStreamParams } from "./request.ts";
import { streamRunLog, streamRuns, type RunStreamSources } from "./runs/stream.ts";
import { streamEvents, streamWatch, type StreamSources } from "./streams.ts";
import { streamSync, type SyncFeed } from "./sync/stream.ts";

/** The server's routes and streams, whoever calls them. */
export type Dispatch = {
  /** Answers one request; `params` is what the caller gave, not yet checked. */
  call<R extends RouteName>(route: R, params: unknown): Promise<Result<R>>;
  /** Begins a stream whose parameters were read. */
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
  sources: AllSources;
  log: Log;
  /** Aborts when the server stops: streams end, and calls that would change something are refused. */
  stopping: AbortSignal;
};

type AllSources = StreamSources & RunStreamSources & { syncs: SyncFeed };

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
        return await handlers[route](await readParams(route, params));
      } catch (thrown) {
        throw logged(log, route, thrown);
      } finally {
        leave();
      }
    },
    async *stream(name, params, signal) {
      const leave = enter();
      const ending = firstOf(signal, stopping);
      try {
        refuseIfStopping(name);
        yield* openStream(sources, name, params, ending.signal);
      } catch (thrown) {
        throw logged(log, name, thrown);
      } finally {
        ending.release();
        leave();
      }
    },
    open: () => open,
    lastUsedAt: () => lastUsedAt,
  };
}

// Not AbortSignal.any: `stopping` lives as long as the server, and Node 20 lets what is derived from
// a long-lived signal pile up.
function firstOf(...signals: AbortSignal[]): { signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  for (const signal of signals) {
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort);
  }
  const release = (): void => {
    for (const signal of signals) signal.removeEventListener("abort", abort);
  };
  return { signal: controller.signal, release };
}

/** A client's way in without a socket: same schemas, same handlers. */
export function localTransport(dispatch: Dispatch): Transport {
  return {
    call: (route, params) => dispatch.call(route, params),
    stream: (stream, params, signal) =>
      dispatch.stream(stream, readStreamParams(stream, params), signal),
    close: () => Promise.resolve(),
  };
}

function openStream<S extends StreamName>(
  sources: AllSources,
  name: S,
  params: StreamApi[S]["params"],
  signal: AbortSignal,
): AsyncIterable<StreamApi[S]["item"]> {
  switch (name) {
    case "events":
      return streamEvents(sources, params as StreamApi["events"]["params"], signal);
    case "watch":
      return streamWatch(sources, params as StreamApi["watch"]["params"], signal);
    case "watchRuns":
      return streamRuns(sources, params as StreamApi["watchRuns"]["params"], signal);
    case "followRunLog":
      return streamRunLog(sources, params as StreamApi["followRunLog"]["params"], signal);
    default:
      return streamSync(sources.syncs, params as StreamApi["sync"]["params"], signal);
  }
}

// Errors that callers can meet are theirs to show; what nobody expected is written down here, once.
function logged(log: Log, route: string, thrown: unknown): PiWorkflowsError {
  const error = toPiWorkflowsError(thrown);
  if (error.code === "INTERNAL")
    log.error("A request failed", { route, error: error.cause ?? error });
  return error;
}
