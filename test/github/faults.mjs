// @ts-check
/** What can go wrong between a client and GitHub, as rules that a test or a demo switches on. */

/**
 * One request as the stand-in sees it. The token is never kept.
 * @typedef {{ method: string, pathname: string, search: string, headers: Record<string, string>,
 *   token: string | undefined, body: any }} ProxyRequest
 * @typedef {{ status: number, headers: Record<string, string>, body: any }} Answer
 *
 * What a rule does instead of, before, or after passing the request on.
 * - `status`: answers without passing on.
 * - `reset`: cuts the connection without passing on. `apply-reset`: after GitHub has done it.
 * - `apply-502`: GitHub has done it, the gateway says 502.
 * - `slow`: passes on after `ms`.
 * - `hang`: never answers, `after` (or before) GitHub has done it.
 * - `truncate`: the real status line, half of the body, then the connection is cut.
 * - `garble`: the real status line, half of the JSON, of the right length.
 * - `map`: rewrites the real answer. `first`: does something, then passes on.
 * @typedef {{ kind: "status", status: number, body?: unknown, headers?: Record<string, string> }
 *   | { kind: "reset" } | { kind: "apply-reset" } | { kind: "apply-502" }
 *   | { kind: "slow", ms: number } | { kind: "hang", after: boolean }
 *   | { kind: "truncate" } | { kind: "garble" }
 *   | { kind: "map", map: (answer: Answer) => Answer }
 *   | { kind: "first", run: () => unknown }} Act
 *
 * @typedef {{ method?: string, path: RegExp, times?: number, skip?: number, act: Act }} FaultRule
 * @typedef {FaultRule & { hits: number, hit: Promise<void>, cancel: () => void }} ArmedRule
 */

const message = (/** @type {string} */ text) => ({
  message: text,
  documentation_url: "https://docs.github.com/rest",
});

/** The acts that tests use most, with the words of GitHub. */
export const acts = {
  badGateway: /** @type {Act} */ ({ kind: "status", status: 502, body: message("Server Error") }),
  tooManyRequests: (/** @type {number} */ seconds) =>
    /** @type {Act} */ ({
      kind: "status",
      status: 429,
      headers: { "retry-after": String(seconds) },
      body: message("Too many requests"),
    }),
  secondaryLimit: (/** @type {number} */ seconds) =>
    /** @type {Act} */ ({
      kind: "status",
      status: 403,
      headers: { "retry-after": String(seconds) },
      body: message(
        "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
      ),
    }),
  primaryLimit: (/** @type {number} */ resetSeconds) =>
    /** @type {Act} */ ({
      kind: "status",
      status: 403,
      headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(resetSeconds) },
      body: message("API rate limit exceeded for user ID 1."),
    }),
  forbidden: /** @type {Act} */ ({
    kind: "status",
    status: 403,
    body: message("Resource not accessible by personal access token"),
  }),
  notFound: /** @type {Act} */ ({ kind: "status", status: 404, body: message("Not Found") }),
  unauthorized: /** @type {Act} */ ({
    kind: "status",
    status: 401,
    body: message("Bad credentials"),
  }),
  refused: (/** @type {string} */ text) =>
    /** @type {Act} */ ({ kind: "status", status: 405, body: message(text) }),
  baseModified: /** @type {Act} */ ({
    kind: "status",
    status: 405,
    body: message("Base branch was modified. Review and try the merge again."),
  }),
};

/** The rules in force: the first armed rule that matches a request takes it. */
export class Faults {
  /** @type {(ArmedRule & { reached: () => void })[]} */
  #rules = [];

  /**
   * Arms a rule. `hit` resolves when it has taken its first request.
   * @param {FaultRule} rule
   * @returns {ArmedRule}
   */
  add(rule) {
    /** @type {() => void} */
    let reached = () => {};
    const hit = /** @type {Promise<void>} */ (new Promise((resolve) => (reached = resolve)));
    const cancel = () => {
      this.#rules = this.#rules.filter((other) => other !== armed);
    };
    const armed = { ...rule, hits: 0, hit, reached, cancel };
    this.#rules.push(armed);
    return armed;
  }

  /**
   * The act for this request, if a rule takes it; counts the hit.
   * @param {string} method @param {string} pathname
   */
  take(method, pathname) {
    for (const rule of this.#rules) {
      if (rule.method !== undefined && rule.method !== method) continue;
      if (!rule.path.test(pathname)) continue;
      rule.hits += 1;
      const turn = rule.hits - (rule.skip ?? 0);
      if (turn <= 0 || turn > (rule.times ?? 1)) continue;
      rule.reached();
      return rule.act;
    }
    return undefined;
  }

  clear() {
    this.#rules = [];
  }
}
