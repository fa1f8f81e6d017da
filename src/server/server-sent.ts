import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { toPiWorkflowsError } from "../model/errors.ts";

export type StreamTiming = {
  /** Between signs of life, which readers ignore. Milliseconds. */
  heartbeatMs: number;
  /** A reader that takes nothing for so long is gone or stuck; it may resume later. Milliseconds. */
  stalledMs: number;
};

const TIMING: StreamTiming = { heartbeatMs: 15_000, stalledMs: 30_000 };

/**
 * Writes items as server-sent events, one JSON text each, with the item's sequence as id, until the
 * items end or the reader leaves. At most one item waits for a slow reader; one that stalls is
 * dropped, so nothing piles up.
 */
export async function sendStream(
  response: ServerResponse,
  open: (signal: AbortSignal) => AsyncIterable<object>,
  { heartbeatMs, stalledMs }: StreamTiming = TIMING,
): Promise<void> {
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  response.on("error", () => gone.abort());
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  response.flushHeaders();
  const heartbeat = setInterval(() => response.write(": alive\n\n"), heartbeatMs);
  try {
    for await (const item of open(gone.signal)) {
      if (!(await send(response, frame(item), { gone: gone.signal, stalledMs }))) break;
    }
  } catch (thrown) {
    const error = toPiWorkflowsError(thrown).toJSON();
    response.write(`event: error\ndata: ${JSON.stringify(error)}\n\n`);
  } finally {
    clearInterval(heartbeat);
    gone.abort();
    response.end();
  }
}

function frame(item: object): string {
  const id = "sequence" in item ? `id: ${String(item.sequence)}\n` : "";
  return `${id}data: ${JSON.stringify(item)}\n\n`;
}

/** False when the reader left or stalled. */
async function send(
  response: ServerResponse,
  text: string,
  { gone, stalledMs }: { gone: AbortSignal; stalledMs: number },
): Promise<boolean> {
  if (gone.aborted) return false;
  if (response.write(text)) return true;
  // No AbortSignal.timeout: within AbortSignal.any, Node collects it as garbage before it fires
  // (github.com/nodejs/node/issues/57736).
  const stalled = new AbortController();
  const timer = setTimeout(() => stalled.abort(), stalledMs);
  try {
    await once(response, "drain", { signal: AbortSignal.any([gone, stalled.signal]) });
    return true;
  } catch {
    response.destroy();
    return false;
  } finally {
    clearTimeout(timer);
  }
}
