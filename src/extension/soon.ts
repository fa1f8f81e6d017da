/** Work that is asked for often and done once: `afterMs` after it was first asked for. */
export class Soon {
  readonly #work: () => Promise<void>;
  readonly #afterMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(afterMs: number, work: () => Promise<void>) {
    this.#work = work;
    this.#afterMs = afterMs;
  }

  /** Has it done. It holds no process open. */
  ask(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#work();
    }, this.#afterMs);
    this.#timer.unref();
  }

  /** What was asked for and not begun is not done. */
  cancel(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
