/** Time as the core sees it; tests and simulations supply their own. */
export type Clock = {
  /** Epoch milliseconds, UTC, an integer (T-5). May jump either way. */
  now(): number;
  /** Milliseconds that never go back and do not count a suspended machine (T-4). */
  monotonic(): number;
  /** Runs `callback` once after `delayMs` (clamped to 2³¹−1); the function returned cancels it. */
  schedule(callback: () => void, delayMs: number): () => void;
};

/** Sources of identities that are never reused. */
export type Ids = {
  /** A resource uid, reconcile id or epoch: time-ordered, globally unique. */
  next(): string;
  /** An opaque claim token: at least 128 random bits. */
  token(): string;
};

/** A structured log: a constant message and fields. Credentials are redacted where it is written. */
export type Log = {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
};
export type LogFields = Record<string, unknown>;

/**
 * Named points at which a test may wait, fail or kill the process; inert in production.
 * A name states the moment, e.g. `effect.pending.committed`.
 */
export type Probe = (name: string, fields?: LogFields) => void | Promise<void>;
