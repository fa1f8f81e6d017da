import { LIMITS } from "../src/model/limits.ts";
import type { ResolvedManager } from "../src/model/manifest.ts";
import { systemClock } from "../src/model/clock.ts";
import { systemIds } from "../src/server/system.ts";
import { openStore } from "../src/store/sqlite/store.ts";
import type { ResourceManagerStore } from "../src/store/store.ts";

/** The project of stores that no server opens. */
export const PROJECT = "/bench";

const WIDGET: ResolvedManager = {
  name: "widget",
  path: `${PROJECT}/.pi/resource-managers/widget.resource-manager.ts`,
  scope: "project",
  digest: "0".repeat(64),
  inputs: [],
  secretPaths: [],
  sources: [],
  deadlineMs: LIMITS.deadlineMs,
  maxConcurrent: LIMITS.concurrencyPerManager,
};

export function open(file: string): Promise<ResourceManagerStore> {
  return openStore({ path: file, clock: systemClock, ids: systemIds(systemClock) });
}

/** Makes a store with the manager `widget` of PROJECT, and closes it; returns the manager's lane. */
export async function makeLane(file: string): Promise<number> {
  const store = await open(file);
  const { lane } = await store.acceptManager(PROJECT, WIDGET);
  await store.close();
  return lane;
}
