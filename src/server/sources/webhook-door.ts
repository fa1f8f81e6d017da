import type { Clock, Log } from "../../model/ports.ts";
import { listenForWebhooks, type WebhookRoutes } from "./webhook-server.ts";

/** A port that another program holds is tried again after this. */
const AGAIN_MS = 3_000;

/** Where webhooks are answered. */
export type WebhookDoor = {
  /** The port of 127.0.0.1; undefined while it could not be had. */
  readonly port: number | undefined;
  close(): Promise<void>;
};

/**
 * Opens the port of webhooks. One that is taken keeps no server from starting: webhooks are hints,
 * and everything they hint at is looked at in time without them.
 */
export async function openWebhookDoor(
  { port, routes }: { port: number; routes: WebhookRoutes },
  { clock, log }: { clock: Clock; log: Log },
): Promise<WebhookDoor> {
  let listener: { port: number; close(): Promise<void> } | undefined;
  let cancel: (() => void) | undefined;
  let opening: Promise<void> = Promise.resolve();
  let isClosed = false;
  const open = async (): Promise<void> => {
    try {
      listener = await listenForWebhooks(port, routes);
      log.info("Webhooks are answered", { port: listener.port });
    } catch (error) {
      log.warn("The port of webhooks could not be opened; tried again", { port, error });
      if (!isClosed) cancel = clock.schedule(() => void (opening = open()), AGAIN_MS);
    }
  };
  await open();
  return {
    get port() {
      return listener?.port;
    },
    async close() {
      isClosed = true;
      cancel?.();
      await opening;
      await listener?.close();
    },
  };
}
