/**
 * Where a test may let the process die: once an effect is pending on disk and before its provider is
 * called, once the provider has answered and before that is recorded, or right after it is.
 */
export type CrashPoint = "effect-pending" | "provider-answered" | "effect-settled";

/** Dies once, at one of the points: what was begun never ends, as in a process that is killed. */
export class Crash {
  #point: CrashPoint | undefined;
  #die: () => void = () => undefined;

  /** Resolves when the process has died. */
  readonly died = new Promise<void>((resolve) => (this.#die = resolve));

  constructor(point: CrashPoint | undefined) {
    this.#point = point;
  }

  /** Never resolves where this is the point. */
  async at(point: CrashPoint): Promise<void> {
    if (this.#point !== point) return;
    this.#point = undefined;
    this.#die();
    await new Promise<never>(() => undefined);
  }
}
