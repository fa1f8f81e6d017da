import type { PiWorkflowsError } from "../../model/errors.ts";
import type { SyncStatus } from "../protocol.ts";
import type { Consent } from "./plan-revision.ts";

/** Somebody who asked for a sync and waits for what it comes to. */
export type Waiter = {
  consent: Consent;
  resolve: (status: SyncStatus) => void;
  reject: (error: PiWorkflowsError) => void;
};

/** Who waits for the next sync. */
export class Waiters {
  #waiting: Waiter[] = [];
  /** True while the first sync answers everybody who asks: they asked for it to begin. */
  #isFirstAwaited = false;

  /** The sync that begins now was asked for by whoever may ask again before it is over. */
  awaitFirst(): void {
    this.#isFirstAwaited = true;
  }

  add(consent: Consent): Promise<SyncStatus> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ consent, resolve, reject });
    });
  }

  /** Those whom the sync that begins now answers. */
  take(): Waiter[] {
    return this.#waiting.splice(0);
  }

  /** Called off: whoever waited, waits for the sync that takes its place. */
  giveBack(waiters: readonly Waiter[]): void {
    this.#waiting.unshift(...waiters);
  }

  /** A sync is over. It answers also who asked meanwhile, where it is one they asked for before. */
  answer(waiters: readonly Waiter[], status: SyncStatus): void {
    const joined = this.#isFirstAwaited ? this.#withoutConsent() : [];
    this.#isFirstAwaited = false;
    for (const { resolve } of [...waiters, ...joined]) resolve(status);
  }

  refuse(error: PiWorkflowsError): void {
    for (const { reject } of this.take()) reject(error);
  }

  #withoutConsent(): Waiter[] {
    const asks = ({ consent }: Waiter): boolean => Object.keys(consent).length > 0;
    const found = this.#waiting.filter((waiter) => !asks(waiter));
    this.#waiting = this.#waiting.filter(asks);
    return found;
  }
}
