import type { FaultyConnection, StatementListener } from "./database.ts";
import { checkOperation } from "./operation-rules.ts";
import { EMPTY, isSame, readState, type StoreState } from "./store-state.ts";
import { checkState } from "./state-rules.ts";
import type { Clock } from "../../src/model/ports.ts";
import type { World } from "./world.ts";

/**
 * Looks at the store after each operation, before and after its commit, and says which invariant does
 * not hold. What it finds it keeps, since the code that is tried may catch what is thrown at it.
 */
export class Oracle implements StatementListener {
  /** The first thing that was wrong. */
  violation: string | undefined;
  operations = 0;
  readonly #world: World;
  #connection: FaultyConnection | undefined;
  /** As last committed. */
  #committed: StoreState = EMPTY;
  /** As the transaction has it so far. */
  #current: StoreState = EMPTY;
  #beforeOperation: StoreState = EMPTY;
  #epoch = 0;
  /** Queue time as last read, and when that was by the monotonic clock. */
  #latest = { at: 0, queueTime: 0 };
  /** Versions that clients were told of, by uid: a crash must not take them back. */
  readonly #acknowledged = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
  }

  /** A server opened the store: it finds what was committed. */
  watch(connection: FaultyConnection): void {
    this.#connection = connection;
    // Its queue time goes on from the stored one: it can't know how long none ran.
    const found = this.#read(this.#committed, 0);
    if (!isSame(found, this.#committed) && this.#committed !== EMPTY) {
      this.fail("P-5, A-10: the store that was opened is not what was committed");
    }
    this.#committed = found;
    this.#current = found;
  }

  begun(): void {
    this.#current = this.#committed;
  }

  operationBegun(): void {
    this.#beforeOperation = this.#current;
  }

  operationUndone(): void {
    this.#current = this.#beforeOperation;
  }

  /** An operation has written all that it writes. */
  written(name: string): void {
    this.operations += 1;
    const before = this.#current;
    const after = this.#read(before);
    this.#current = after;
    if (isSame(before, after)) return;
    this.#report(name, checkOperation(name, before, after));
  }

  committed(): void {
    this.#committed = this.#current;
    this.#report("commit", checkState(this.#committed));
    for (const [uid, version] of this.#acknowledged) {
      const row = this.#committed.resources.get(uid);
      if (row && row.resource_version < version) {
        this.fail(
          `A-10, F-1: ${uid} is at ${row.resource_version}, but ${version} was acknowledged`,
        );
      }
    }
  }

  epochBegun(epoch: number): void {
    if (epoch <= this.#epoch) this.fail(`F-7: epoch ${epoch} after ${this.#epoch}`);
    this.#epoch = epoch;
  }

  /** A client was told that a resource is at this version. */
  acknowledged(uid: string, version: number): void {
    this.#acknowledged.set(uid, Math.max(version, this.#acknowledged.get(uid) ?? 0));
  }

  /** The provider is about to be asked for something, the how manieth time. */
  calling(key: string, times: number): void {
    const [uid = "", name = "", part] = key.split("/");
    const row = this.#committed.resources.get(uid);
    // What nodes do without the ledger is told by their journal.
    if (!row || (part !== undefined && name !== "ledgered")) return;
    const effect = this.#committed.effects.get(`${row.id} ${name}`);
    // Left indeterminate: its server has gone, and the runner does not know it yet.
    if (effect?.state !== "pending" && effect?.state !== "indeterminate") {
      this.fail(`E-1, E-3: ${key} is called, and its effect is ${effect?.state ?? "nowhere"}`);
    } else if (times > effect.attempts) {
      this.fail(`E-2: ${key} is called ${times} times, and noted ${effect.attempts} times`);
    }
    const isHeld = part !== undefined || row.finalizers !== "[]" || effect?.state !== "pending";
    if (!isHeld) this.fail(`D-4: ${key} is called, and nothing holds its resource`);
  }

  fail(message: string): void {
    this.#world.trace(`VIOLATION ${message}`);
    this.violation ??= message;
  }

  get state(): StoreState {
    return this.#committed;
  }

  #report(what: string, problems: string[]): void {
    for (const problem of problems) this.fail(`${problem} (${what})`);
  }

  /** The clock of a store, whose every look at it moves queue time on. */
  clock(clock: Clock): Clock {
    return { ...clock, now: () => (this.#tick(), clock.now()) };
  }

  /** Where the wall clock was set back, queue time goes on at the rate of the monotonic one (T-1). */
  #tick(): number {
    const at = this.#world.monotonic();
    const counted = Math.floor(this.#latest.queueTime + at - this.#latest.at);
    const queueTime = Math.max(this.#world.wall(), counted);
    this.#latest = { at, queueTime };
    return queueTime;
  }

  #read(before: StoreState, now = this.#tick()): StoreState {
    const connection = this.#connection as FaultyConnection;
    const state = readState(connection, before, { changed: connection.takeChanged(), now });
    this.#latest = { at: this.#world.monotonic(), queueTime: state.queueTime };
    return state;
  }
}
