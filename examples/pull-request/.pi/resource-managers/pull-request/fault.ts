/**
 * What a call of GitHub can end as, other than with an answer.
 * - `limited`: not carried out; all calls of this token stop for `waitMs`.
 * - `no-access`: not carried out; the token may not, or GitHub does not say whether it exists.
 * - `moved`: the repository has another name.
 * - `refused`: not carried out, for the reason that `status` and message give.
 * - `unreadable`: no answer that can be trusted. A read may be repeated; whether a write was
 *   carried out is not known.
 */
export type FaultKind = "limited" | "no-access" | "moved" | "refused" | "unreadable";

export class GitHubFault extends Error {
  override readonly name = "GitHubFault";
  readonly kind: FaultKind;
  readonly status: number | undefined;
  /** Milliseconds; of `limited` only. */
  readonly waitMs: number;
  /** Of `moved` only: where to look. */
  readonly location: string | undefined;

  constructor(
    kind: FaultKind,
    message: string,
    facts: { status?: number; waitMs?: number; location?: string; cause?: unknown } = {},
  ) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.kind = kind;
    this.status = facts.status;
    this.waitMs = facts.waitMs ?? 0;
    this.location = facts.location;
  }
}

/** The headers and the message of an answer with an error status. */
export type ErrorAnswer = {
  status: number;
  headers: Record<string, string | number | undefined>;
  message: string;
};

/** GitHub's advice where it names no time: at least a minute. Source: REST docs, "Rate limits". */
const LEAST_WAIT_MS = 60_000;

/** What an error status means; `what` names the call for people. */
export function classify(what: string, answer: ErrorAnswer, now: number): GitHubFault {
  const { status } = answer;
  const message = `${what}: GitHub answers ${status}: ${answer.message.slice(0, 300)}`;
  const waitMs = limitOf(answer, now);
  if (waitMs !== undefined) return new GitHubFault("limited", message, { status, waitMs });
  if (status === 401 || status === 403 || status === 404) {
    return new GitHubFault("no-access", message, { status });
  }
  if (status >= 500 || status === 408) return new GitHubFault("unreadable", message, { status });
  return new GitHubFault("refused", message, { status });
}

/** Milliseconds to wait where the answer is a rate limit. */
function limitOf({ status, headers, message }: ErrorAnswer, now: number): number | undefined {
  if (status !== 403 && status !== 429) return undefined;
  const retryAfter = Number(headers["retry-after"] ?? Number.NaN);
  if (Number.isFinite(retryAfter)) return Math.max(1_000, retryAfter * 1_000);
  if (String(headers["x-ratelimit-remaining"]) === "0") {
    const reset = Number(headers["x-ratelimit-reset"] ?? Number.NaN) * 1_000;
    return Number.isFinite(reset) ? Math.max(1_000, reset - now) : LEAST_WAIT_MS;
  }
  return status === 429 || /rate limit|abuse/i.test(message) ? LEAST_WAIT_MS : undefined;
}
