import type { SyncAttempt } from "../src/model/sync.ts";
import type { SyncEnable, SyncStatus } from "../src/server/protocol.ts";
import { check, median, milliseconds, until } from "./harness.ts";
import { clock, startHost, type Host } from "./host.ts";
import type { Project } from "./project.ts";

/** A status of the set, and when it was told, by `clock()`. */
export type Told = { status: SyncStatus; at: number };

/** A server that syncs a project, and all that it tells of that. */
export class Synced {
  readonly host: Host;
  readonly told: Told[] = [];
  readonly #ended = new AbortController();
  #wake = (): void => {};

  constructor(host: Host) {
    this.host = host;
  }

  async follow(): Promise<void> {
    for await (const item of this.host.client.syncWatch({}, this.#ended.signal)) {
      if (item.kind !== "present") continue;
      this.told.push({ status: item.status, at: clock() });
      this.#wake();
    }
  }

  /** The first status, told from now on or since `from` of `told`, that is as wanted. */
  async next(wanted: (status: SyncStatus) => boolean, from = this.told.length): Promise<Told> {
    const deadline = performance.now() + 60_000;
    for (let index = from; ;) {
      const told = this.told[index];
      if (told && wanted(told.status)) return told;
      if (told) {
        index += 1;
        continue;
      }
      check(performance.now() < deadline, "the sync comes to what is expected");
      await this.#more();
    }
  }

  /** Attempts told since `from` of `told`. */
  attemptsSince(from: number): SyncAttempt[] {
    const before = this.told[from - 1]?.status.report.attempted?.at;
    const attempts = new Map<number, SyncAttempt>();
    for (const { status } of this.told.slice(from)) {
      const { attempted } = status.report;
      if (attempted && attempted.at !== before) attempts.set(attempted.at, attempted);
    }
    return [...attempts.values()];
  }

  /** Every pass that is due is settled. */
  async quiet(): Promise<void> {
    await until(async () => {
      const { lanes } = await this.host.client.status();
      return lanes.every(({ ready, running }) => ready === 0 && running === 0);
    }, "the queue is empty");
    await this.host.checkSettled();
  }

  async stop(): Promise<void> {
    this.#ended.abort();
    await this.host.stop();
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, 1_000);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Starts a server, enables sync, and waits until `count` specs are applied and settled. */
export async function startSynced(
  project: Project,
  count: number,
  how: Omit<SyncEnable, "project"> = {},
): Promise<Synced> {
  const host = await startHost(project, 2);
  const synced = new Synced(host);
  synced.follow().catch(() => undefined);
  await host.client.syncEnable({ project: project.root, ...how });
  await synced.next(({ report }) => {
    return report.applied?.counts?.create === count && report.applied.outcome === "applied";
  }, 0);
  await synced.quiet();
  return synced;
}

/**
 * Milliseconds that the sync at the end of `told` spent in each phase, by the server's own clock:
 * a busy server tells of several phases at once.
 */
export function phasesOf(told: readonly Told[]): Record<Phase, number> {
  const { at = Number.NaN, durationMs = Number.NaN } = told.at(-1)?.status.report.attempted ?? {};
  const [planning, applying] = [beginOf(told, "planning"), beginOf(told, "applying")];
  return {
    loading: planning - at,
    planning: applying - planning,
    applying: at + durationMs - applying,
  };
}

/** When a phase was entered last, epoch milliseconds. */
export function beginOf(told: readonly Told[], phase: Phase): number {
  const last = told.findLast(({ status }) => status.activity.state === phase);
  return last?.status.activity.since ?? Number.NaN;
}

type Phase = "loading" | "planning" | "applying";

/** The median of each phase, for people. */
export function describePhases(phases: readonly Record<Phase, number>[]): string {
  return (["loading", "planning", "applying"] as const)
    .map((name) => `${name} ${milliseconds(median(phases.map((each) => each[name])))}`)
    .join(", ");
}

/** True once a revision is applied whole. */
export function isApplied(commit: string): (status: SyncStatus) => boolean {
  return ({ report: { attempted } }) =>
    attempted?.revision.id === commit && attempted.outcome === "applied";
}
