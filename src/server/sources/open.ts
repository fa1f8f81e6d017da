import type { ManagerRecord } from "../../model/batch.ts";
import type { Clock, Log } from "../../model/ports.ts";
import type { RunnerPort } from "../../runner/port.ts";
import type { ResourceManagerStore } from "../../store/store.ts";
import type { Changes } from "../changes.ts";
import type { Config } from "../config.ts";
import type { Registry } from "../registry.ts";
import type { Releasers } from "../releasers.ts";
import type { Scheduler } from "../scheduler.ts";
import { Sources } from "./sources.ts";
import { openWebhookDoor, type WebhookDoor } from "./webhook-door.ts";
import { Webhooks } from "./webhooks.ts";

/** What sources are made of. */
export type SourceParts = {
  config: Config;
  clock: Clock;
  log: Log;
  releasers: Releasers;
  store: ResourceManagerStore;
  registry: Registry;
  changes: Changes;
  scheduler: Pick<Scheduler, "wake">;
  /** Sources of managers in files map in `maps`, of those handed over as objects in `local`. */
  runners: { local: RunnerPort; maps: RunnerPort };
  isServed: (record: ManagerRecord) => boolean;
};

/** Everything that wakes resources from outside. */
export type OpenSources = Pick<Sources, "start" | "register" | "any"> & {
  /** Listens where the configuration says so. */
  openWebhooks(): Promise<void>;
  /** The port of 127.0.0.1 where webhooks are answered. */
  webhookPort(): number | undefined;
};

/** Makes the sources; they are released before what was made earlier, so before the scheduler. */
export function openSources(parts: SourceParts): OpenSources {
  const { config, clock, log, releasers, scheduler, runners } = parts;
  const stopping = new AbortController();
  const services = {
    ...parts,
    wake: (target: { project: string; manager: string }) => scheduler.wake(target),
    runnerOf: ({ scope }: ManagerRecord) => (scope === "hosted" ? runners.local : runners.maps),
    stopping: stopping.signal,
  };
  const sources = new Sources(services);
  releasers.add("sources", async () => {
    stopping.abort("shutdown");
    await sources.stop();
  });
  let door: WebhookDoor | undefined;
  return {
    start: () => sources.start(),
    register: (record) => sources.register(record),
    any: () => sources.any() || door !== undefined,
    webhookPort: () => door?.port,
    async openWebhooks() {
      if (!config.webhooks) return;
      const { port } = config.webhooks;
      door = await openWebhookDoor({ port, routes: new Webhooks(services) }, { clock, log });
      releasers.add("webhooks", () => door?.close());
    },
  };
}
