import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { toPiWorkflowsError } from "../model/errors.ts";

// Proxies and people's patience both like a sign of life; comments are ignored by readers.
const HEARTBEAT_MS = 15_000;
// A reader that takes nothing for so long is gone or stuck; it may come back with Last-Event-ID.
const STALLED_MS = 30_000;

/**
 * Writes items as server-sent events, one JSON text each, with the item's sequence as id, until the
 * items end or the reader leaves. At most one item waits for a slow reader; one that stalls is
 * dropped, so nothing piles up.
 */
export async function sendStream(
  response: ServerResponse,
  open: (signal: AbortSignal) => AsyncIterable<object>,
): Promise<void> {
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  response.on("error", () => gone.abort());
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  response.flushHeaders();
  const heartbeat = setInterval(() => response.write(": alive\n\n"), HEARTBEAT_MS);
  try {
    for await (const item of open(gone.signal)) {
      if (!(await send(response, frame(item), gone.signal))) break;
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
async function send(response: ServerResponse, text: string, gone: AbortSignal): Promise<boolean> {
  if (gone.aborted) return false;
  if (response.write(text)) return true;
  const stalled = AbortSignal.timeout(STALLED_MS);
  try {
    await once(response, "drain", { signal: AbortSignal.any([gone, stalled]) });
    return true;
  } catch {
    response.destroy();
    return false;
  }
}
