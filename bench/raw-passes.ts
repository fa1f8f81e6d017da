import { fork, type ChildProcess } from "node:child_process";
import { check } from "./harness.ts";
import { program } from "./processes.ts";
import type { RawClaim, RawStore } from "./raw.ts";

/** One pass under way in a child. */
type Place = { id: number; child: ChildProcess; step: number; claim: RawClaim | undefined };

export type RawRun = { passes: number; commits: number };

/**
 * The reference of P1 and P2: claim, one round trip to a bare IPC child, settle; with an effect two
 * more durable writes and round trips. What arrives in one turn of the event loop is one
 * transaction.
 */
export class RawPasses {
  readonly #store: RawStore;
  readonly #lane: number;
  readonly #children: ChildProcess[];

  constructor(store: RawStore, lane: number, runners: number) {
    this.#store = store;
    this.#lane = lane;
    this.#children = Array.from({ length: runners }, () => fork(program("echo")));
  }

  async start(): Promise<void> {
    await Promise.all(
      this.#children.map((child) => new Promise((resolve) => child.once("message", resolve))),
    );
  }

  stop(): void {
    for (const child of this.#children) child.disconnect();
  }

  /** Runs every ready key once, one at a time in each child. */
  run(effects: boolean): Promise<RawRun> {
    const places = this.#children.map((child, id): Place => {
      return { id, child, step: 0, claim: undefined };
    });
    const counts = { passes: 0, commits: 0 };
    let waiting = places;
    let busy = places.length;
    return new Promise((resolve) => {
      const commit = (): void => {
        const turn = waiting;
        waiting = [];
        this.#store.group(() => {
          for (const place of turn) counts.passes += this.#advance(place, effects ? 2 : 0);
        });
        counts.commits += 1;
        for (const place of turn) {
          if (place.claim) place.child.send(passMessage(place, place.claim));
          else busy -= 1;
        }
        if (busy > 0) return;
        for (const { child } of places) child.removeAllListeners("message");
        resolve(counts);
      };
      for (const place of places) {
        place.child.on("message", ({ id }: { id: number }) => {
          check(id === place.id, "an answer comes from its child");
          waiting.push(place);
          if (waiting.length === 1) setImmediate(commit);
        });
      }
      commit();
    });
  }

  /** The next durable step of a place; 1 where it ended a pass. */
  #advance(place: Place, lastStep: number): 0 | 1 {
    const { claim } = place;
    if (claim && place.step < lastStep) {
      if (place.step === 0) this.#store.beginEffect(claim);
      else this.#store.settleEffect(claim);
      place.step += 1;
      return 0;
    }
    if (claim) this.#store.settle(claim);
    place.step = 0;
    place.claim = this.#store.claim(this.#lane);
    return claim ? 1 : 0;
  }
}

/** The bytes of a real pass: the resource on the first step, a short answer on the others. */
function passMessage({ id, step }: Place, claim: RawClaim): Record<string, unknown> {
  if (step > 0) return { id, kind: "effect", next: "call", key: `pass-${claim.claimGeneration}` };
  const { uid, key, resourceVersion, generation, spec, status, conditions } = claim;
  return {
    id,
    kind: "run",
    resource: {
      metadata: { uid, key, resourceVersion, generation, finalizers: [] },
      spec: JSON.parse(spec) as unknown,
      status: {
        observedGeneration: generation,
        conditions: JSON.parse(conditions) as unknown,
        resourceManagerStatus: JSON.parse(status) as unknown,
      },
    },
  };
}
