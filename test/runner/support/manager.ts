import type { PassResult } from "../../../src/model/pass.ts";
import type { ReconcileContext } from "../../../src/resource-managers/context.ts";
import {
  defineResourceManager,
  type ResourceManager,
  type ResourceManagerDefinition,
} from "../../../src/resource-managers/define.ts";
import type { ReconcileResult } from "../../../src/resource-managers/results.ts";
import { startPass } from "../../../src/runner/pass.ts";
import { memoryHost, never, passOf, type MemoryHost } from "./host.ts";

export type Reconcile = (
  ctx: ReconcileContext<unknown>,
) => Promise<ReconcileResult<unknown>> | ReconcileResult<unknown>;

/** A manager named `probe` that does only what `reconcile` says. */
export function probe(
  reconcile: Reconcile,
  parts: Partial<ResourceManagerDefinition<unknown, unknown>> = {},
): ResourceManager {
  return defineResourceManager({ name: "probe", initialStatus: () => ({}), reconcile, ...parts });
}

export type PassRun = { result: PassResult; host: MemoryHost };

/** Runs one pass of `reconcile`, as both transports do it. */
export async function runManager(
  reconcile: Reconcile,
  options: {
    host?: MemoryHost;
    now?: () => number;
    signal?: AbortSignal;
    parts?: Partial<ResourceManagerDefinition<unknown, unknown>>;
  } = {},
): Promise<PassRun> {
  const { host = memoryHost(), now = Date.now, signal = never(), parts } = options;
  const running = startPass(probe(reconcile, parts), { pass: passOf("d"), host, signal, now });
  return { result: await running.result, host };
}
