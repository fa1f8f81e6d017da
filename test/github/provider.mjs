// @ts-check
/**
 * emulate 0.11.2 made to behave like GitHub where it differs. Each function states one difference.
 * Not corrected: rebase keeps no commits, its required-check test looks at the head the pull
 * request was opened with, webhooks, search, files of a pull request.
 */
import { createHash } from "node:crypto";
import { complete } from "./completions.mjs";

/**
 * @typedef {import("./faults.mjs").ProxyRequest} ProxyRequest
 * @typedef {import("./faults.mjs").Answer} Answer
 * @typedef {(method: string, path: string, options?: { body?: unknown, token?: string }) => Promise<Answer>} Upstream
 * @typedef {{ mergedHead?: string, mergeCommit?: string, shown?: Record<string, unknown> }} PullExtra
 */

const DOCS = "https://docs.github.com/rest";

/** @returns {Answer} */
const say = (/** @type {number} */ status, /** @type {string} */ message) => ({
  status,
  headers: {},
  body: { message, documentation_url: DOCS, ...(status === 422 ? { errors: [] } : {}) },
});
/** @returns {Answer} */
const ok = (/** @type {unknown} */ body, status = 200) => ({ status, headers: {}, body });

export class Provider {
  /** @type {Upstream} */ #upstream;
  /** @type {string} */ #url;
  /** @type {Map<string, string>} token → login */ #tokens;
  /** @type {Map<string, PullExtra>} */ #pulls = new Map();
  /** @type {Map<string, any[]>} */ #statuses = new Map();
  /** @type {Map<string, any[]>} */ #rules = new Map();
  /** @type {Map<string, number>} */ #renamed = new Map();
  #nextStatus = 1;
  /** @type {Promise<unknown>} */ #writes = Promise.resolve();

  /** @param {{ upstream: Upstream, url: string, tokens: Map<string, string> }} options */
  constructor({ upstream, url, tokens }) {
    this.#upstream = upstream;
    this.#url = url;
    this.#tokens = tokens;
  }

  /** What GitHub would answer. Writes happen one after another. @param {ProxyRequest} request */
  async answer(request) {
    if (request.method === "GET") return this.#completed(request);
    const result = this.#writes.then(() => this.#completed(request));
    this.#writes = result.catch(() => undefined);
    return result;
  }

  /** @param {ProxyRequest} request */
  async #completed(request) {
    const answer = await this.#route(request);
    const token = request.token ?? this.#anyToken();
    return complete(request.pathname, answer, this.#url, (path) =>
      this.#upstream("GET", path, { token }),
    );
  }

  /** What `GET pull` shows instead of what the emulator says, e.g. `{ mergeable: null }`. */
  show(/** @type {string} */ pull, /** @type {Record<string, unknown>} */ fields) {
    this.#pulls.set(pull, { ...this.#pulls.get(pull), shown: fields });
  }

  /** The rules of a branch, as `GET rules/branches/BRANCH` lists them. */
  setRules(
    /** @type {string} */ repository,
    /** @type {string} */ branch,
    /** @type {any[]} */ rules,
  ) {
    this.#rules.set(`${repository}:${branch}`, rules);
  }

  /** Remembers that a repository had another name. */
  renamed(/** @type {string} */ oldName, /** @type {number} */ id) {
    this.#renamed.set(oldName.toLowerCase(), id);
  }

  /** @param {ProxyRequest} request @returns {Promise<Answer>} */
  async #route(request) {
    const { method, pathname, token } = request;
    if (token !== undefined && !this.#tokens.has(token)) return say(401, "Bad credentials");
    const match = /^\/repos\/([^/]+\/[^/]+)(\/.*)?$/.exec(pathname);
    if (!match) return this.#pass(request);
    const repository = /** @type {string} */ (match[1]);
    const rest = match[2] ?? "";
    const moved = this.#renamed.get(repository.toLowerCase());
    if (moved !== undefined) return this.#redirect(method, moved, rest);
    if (method !== "GET") {
      const refusal = await this.#refuseStranger(request, repository, rest);
      if (refusal) return refusal;
    }
    for (const [verb, pattern, handler] of this.#routes) {
      const found = verb === method ? pattern.exec(rest) : null;
      if (found) return handler(request, repository, found.slice(1).map(decodeURIComponent));
    }
    return this.#pass(request);
  }

  /** @type {[string, RegExp, (request: ProxyRequest, repository: string, parts: string[]) => Promise<Answer>][]} */
  #routes = [
    ["GET", /^\/pulls$/, (request, repository) => this.#listPulls(request, repository)],
    ["GET", /^\/pulls\/(\d+)$/, (request, repository) => this.#getPull(request, repository)],
    [
      "GET",
      /^\/pulls\/(\d+)\/merge$/,
      (request, repository, [n]) => this.#isMerged(request, repository, n),
    ],
    [
      "PUT",
      /^\/pulls\/(\d+)\/merge$/,
      (request, repository, [n]) => this.#merge(request, repository, n),
    ],
    [
      "PUT",
      /^\/pulls\/(\d+)\/update-branch$/,
      (request, repository, [n]) => this.#updateBranch(request, repository, n),
    ],
    ["POST", /^\/pulls\/(\d+)\/reviews$/, (request) => this.#createReview(request)],
    ["GET", /^\/commits\/(.+)\/check-runs$/, (request) => this.#listCheckRuns(request)],
    [
      "GET",
      /^\/commits\/(.+)\/status$/,
      (request, repository, [ref]) => this.#combinedStatus(request, repository, ref),
    ],
    [
      "GET",
      /^\/commits\/(.+)\/statuses$/,
      (request, repository, [ref]) => this.#listStatuses(request, repository, ref),
    ],
    [
      "POST",
      /^\/statuses\/([0-9a-f]+)$/,
      (request, repository, [sha]) => this.#createStatus(request, repository, sha),
    ],
    [
      "GET",
      /^\/rules\/branches\/(.+)$/,
      (request, repository, [branch]) => this.#listRules(request, repository, branch),
    ],
    [
      "GET",
      /^\/collaborators\/([^/]+)\/permission$/,
      (request, _repository, [login]) => this.#permission(request, login),
    ],
    ["DELETE", /^\/git\/refs\/(.+)$/, (request) => this.#deleteRef(request)],
  ];

  /** @param {ProxyRequest} request @param {Partial<ProxyRequest>} changes */
  #pass(request, changes = {}) {
    const { method, pathname, search, body, token } = { ...request, ...changes };
    return this.#upstream(method, `${pathname}${search}`, {
      ...(body === undefined ? {} : { body }),
      ...(token === undefined ? {} : { token }),
    });
  }

  /** emulate answers 404 for a repository's old name; GitHub redirects. */
  #redirect(/** @type {string} */ method, /** @type {number} */ id, /** @type {string} */ rest) {
    const status = method === "GET" ? 301 : 307;
    const location = `${this.#url}/repositories/${id}${rest}`;
    const message = status === 301 ? "Moved Permanently" : "Temporary Redirect";
    return {
      status,
      headers: { location },
      body: { message, url: location, documentation_url: DOCS },
    };
  }

  /** emulate lets anyone write to a public repository; GitHub wants write access for most writes. */
  async #refuseStranger(
    /** @type {ProxyRequest} */ request,
    /** @type {string} */ repository,
    /** @type {string} */ rest,
  ) {
    if (/^\/(pulls|issues\/\d+\/comments|pulls\/\d+\/reviews|forks)$/.test(rest)) return undefined;
    const login = this.#tokens.get(request.token ?? "");
    if (login === undefined) return say(401, "Requires authentication");
    const path = `/repos/${repository}/collaborators/${login}/permission`;
    const { status, body } = await this.#upstream("GET", path, { token: request.token ?? "" });
    if (status === 200 && ["admin", "maintain", "push"].includes(body.permission)) return undefined;
    return say(403, "Must have write access to the repository.");
  }

  /** emulate's pull request keeps the head it was opened with; GitHub's follows its branch. */
  async #headOf(/** @type {any} */ pull, /** @type {string} */ repository) {
    const extra = this.#pulls.get(`${repository}#${pull.number}`);
    if (extra?.mergedHead) return extra.mergedHead;
    if (pull.state !== "open" || !pull.head.repo) return pull.head.sha;
    return (await this.#tip(pull.head.repo.full_name, pull.head.ref)) ?? pull.head.sha;
  }

  /** @param {string} repository @param {string} branch @returns {Promise<string | undefined>} */
  async #tip(repository, branch) {
    const path = `/repos/${repository}/git/ref/heads/${branch}`;
    const { status, body } = await this.#upstream("GET", path, { token: this.#anyToken() });
    return status === 200 ? body.object.sha : undefined;
  }

  #anyToken() {
    return /** @type {string} */ (this.#tokens.keys().next().value);
  }

  async #shownPull(/** @type {any} */ pull, /** @type {string} */ repository) {
    const extra = this.#pulls.get(`${repository}#${pull.number}`);
    const sha = await this.#headOf(pull, repository);
    const base = await this.#tip(repository, pull.base.ref);
    return {
      ...pull,
      head: { ...pull.head, sha },
      base: pull.state === "open" && base ? { ...pull.base, sha: base } : pull.base,
      statuses_url: pull.statuses_url.replace(/[^/]+$/, sha),
      ...(pull.draft && pull.state === "open" ? { mergeable_state: "draft" } : {}),
      ...(extra?.mergeCommit ? { merge_commit_sha: extra.mergeCommit } : {}),
      ...extra?.shown,
    };
  }

  /** @param {ProxyRequest} request @param {string} repository */
  async #getPull(request, repository) {
    const answer = await this.#pass(request);
    if (answer.status !== 200) return answer;
    return { ...answer, body: await this.#shownPull(answer.body, repository) };
  }

  /** @param {ProxyRequest} request @param {string} repository */
  async #listPulls(request, repository) {
    const answer = await this.#pass(request);
    if (answer.status !== 200) return answer;
    const body = [];
    for (const pull of answer.body) body.push(await this.#shownPull(pull, repository));
    return { ...answer, body };
  }

  /** emulate lacks `GET merge`. */
  async #isMerged(
    /** @type {ProxyRequest} */ request,
    /** @type {string} */ repository,
    /** @type {string | undefined} */ number,
  ) {
    const { body } = await this.#pass(request, {
      pathname: `/repos/${repository}/pulls/${number}`,
    });
    return body?.merged ? { status: 204, headers: {}, body: undefined } : say(404, "Not Found");
  }

  /** emulate refuses merges with 422, judges the opened head, and merges onto the opened base. */
  async #merge(
    /** @type {ProxyRequest} */ request,
    /** @type {string} */ repository,
    /** @type {string | undefined} */ number,
  ) {
    const path = `/repos/${repository}/pulls/${number}`;
    const { status, body: pull } = await this.#pass(request, {
      method: "GET",
      pathname: path,
      body: undefined,
    });
    if (status !== 200) return say(404, "Not Found");
    const extra = this.#pulls.get(`${repository}#${number}`) ?? {};
    const head = await this.#headOf(pull, repository);
    const refusal = this.#refuseMerge({ ...pull, ...extra.shown }, repository);
    if (refusal) return refusal;
    if (request.body?.sha !== undefined && request.body.sha !== head) {
      return say(409, "Head branch was modified. Review and try the merge again.");
    }
    await this.#pass(request, { method: "PATCH", pathname: path, body: { base: pull.base.ref } });
    const merged = await this.#pass(request, { body: { ...request.body, sha: pull.head.sha } });
    if (merged.status === 422) return say(405, merged.body.message);
    if (merged.status !== 200) return merged;
    this.#pulls.set(`${repository}#${number}`, { ...extra, mergedHead: head });
    if (head === pull.head.sha) return merged;
    return this.#mergeTheRealHead(merged, { repository, pull, head, token: request.token ?? "" });
  }

  #refuseMerge(/** @type {any} */ pull, /** @type {string} */ repository) {
    if (pull.merged || pull.state !== "open") return say(405, "Pull Request is not mergeable");
    if (pull.draft) return say(405, "Pull Request is still a draft");
    if (pull.mergeable === false) return say(405, "Pull Request has merge conflicts");
    const rules = this.#rules.get(`${repository}:${pull.base.ref}`) ?? [];
    if (rules.some((rule) => rule.type === "merge_queue")) {
      return say(
        405,
        "Repository rule violations found\n\nChanges must be made through the merge queue\n\n",
      );
    }
    return undefined;
  }

  /** Replaces the commit that emulate made of the opened head by one of the present head. */
  async #mergeTheRealHead(
    /** @type {Answer} */ merged,
    /** @type {{ repository: string, pull: any, head: string, token: string }} */ target,
  ) {
    const { repository, pull, head, token } = target;
    const commits = `/repos/${repository}/git/commits`;
    const wrong = (await this.#upstream("GET", `${commits}/${merged.body.sha}`, { token })).body;
    const tip = (await this.#upstream("GET", `${commits}/${head}`, { token })).body;
    const parents = wrong.parents.map((/** @type {any} */ parent) =>
      parent.sha === pull.head.sha ? head : parent.sha,
    );
    const right = await this.#upstream("POST", commits, {
      token,
      body: { message: wrong.message, tree: tip.tree.sha, parents },
    });
    const ref = `/repos/${repository}/git/refs/heads/${pull.base.ref}`;
    await this.#upstream("PATCH", ref, { token, body: { sha: right.body.sha, force: true } });
    this.#pulls.set(`${repository}#${pull.number}`, {
      ...this.#pulls.get(`${repository}#${pull.number}`),
      mergeCommit: right.body.sha,
    });
    return ok({ ...merged.body, sha: right.body.sha });
  }

  /** emulate merges the opened base into the opened head; GitHub the present ones. */
  async #updateBranch(
    /** @type {ProxyRequest} */ request,
    /** @type {string} */ repository,
    /** @type {string | undefined} */ number,
  ) {
    const path = `/repos/${repository}/pulls/${number}`;
    const { status, body: pull } = await this.#pass(request, {
      method: "GET",
      pathname: path,
      body: undefined,
    });
    if (status !== 200) return say(404, "Not Found");
    const head = await this.#headOf(pull, repository);
    const base = await this.#tip(repository, pull.base.ref);
    const expected = request.body?.expected_head_sha;
    if (expected !== undefined && expected !== head) {
      return say(422, `expected head sha didn’t match current head ref.`);
    }
    const token = request.token ?? "";
    const into = `/repos/${pull.head.repo.full_name}/git`;
    const tip = (await this.#upstream("GET", `${into}/commits/${head}`, { token })).body;
    const message = `Merge branch '${pull.base.ref}' into ${pull.head.ref}`;
    const body = { message, tree: tip.tree.sha, parents: [head, base] };
    const commit = (await this.#upstream("POST", `${into}/commits`, { token, body })).body;
    await this.#upstream("PATCH", `${into}/refs/heads/${pull.head.ref}`, {
      token,
      body: { sha: commit.sha },
    });
    return ok({ message: "Updating pull request branch.", url: `${this.#url}${path}` }, 202);
  }

  /** emulate answers 201; GitHub 200. */
  async #createReview(/** @type {ProxyRequest} */ request) {
    const answer = await this.#pass(request);
    return answer.status === 201 ? { ...answer, status: 200 } : answer;
  }

  /** emulate lists all check runs on one page; GitHub 30, at most 100, with Link headers. */
  async #listCheckRuns(/** @type {ProxyRequest} */ request) {
    const answer = await this.#pass(request);
    if (answer.status !== 200) return answer;
    const query = new URLSearchParams(request.search);
    const perPage = Math.min(Number(query.get("per_page") ?? 30), 100);
    const page = Number(query.get("page") ?? 1);
    const all = answer.body.check_runs;
    const last = Math.max(1, Math.ceil(all.length / perPage));
    const link = (/** @type {number} */ to, /** @type {string} */ rel) => {
      query.set("page", String(to));
      return `<${this.#url}${request.pathname}?${query}>; rel="${rel}"`;
    };
    return {
      ...answer,
      headers: {
        ...answer.headers,
        ...(page < last ? { link: `${link(page + 1, "next")}, ${link(last, "last")}` } : {}),
      },
      body: {
        total_count: all.length,
        check_runs: all.slice((page - 1) * perPage, page * perPage),
      },
    };
  }

  /** emulate has no commit statuses: they are kept here. */
  async #createStatus(
    /** @type {ProxyRequest} */ request,
    /** @type {string} */ repository,
    /** @type {string | undefined} */ sha,
  ) {
    const key = `${repository}@${sha}`;
    const id = this.#nextStatus++;
    const now = new Date().toISOString();
    const user = (
      await this.#pass(request, { method: "GET", pathname: "/user", search: "", body: undefined })
    ).body;
    const { state, context = "default", description = null, target_url = null } = request.body;
    const status = {
      url: `${this.#url}/repos/${repository}/statuses/${sha}`,
      avatar_url: user.avatar_url,
      id,
      node_id: `S_${id}`,
      state,
      description,
      target_url,
      context,
      created_at: now,
      updated_at: now,
      creator: user,
    };
    this.#statuses.set(key, [status, ...(this.#statuses.get(key) ?? [])]);
    return ok(status, 201);
  }

  /** @param {ProxyRequest} request @param {string} repository @param {string | undefined} ref */
  async #statusesOf(request, repository, ref) {
    const pathname = `/repos/${repository}/commits/${ref}`;
    const commit = await this.#pass(request, { pathname, search: "" });
    if (commit.status !== 200) return undefined;
    return {
      sha: commit.body.sha,
      all: this.#statuses.get(`${repository}@${commit.body.sha}`) ?? [],
    };
  }

  async #listStatuses(
    /** @type {ProxyRequest} */ request,
    /** @type {string} */ repository,
    /** @type {string | undefined} */ ref,
  ) {
    const found = await this.#statusesOf(request, repository, ref);
    return found ? ok(found.all) : say(404, "Not Found");
  }

  /** The latest status of each context, and the worst of them as the whole. */
  async #combinedStatus(
    /** @type {ProxyRequest} */ request,
    /** @type {string} */ repository,
    /** @type {string | undefined} */ ref,
  ) {
    const found = await this.#statusesOf(request, repository, ref);
    if (!found) return say(404, "Not Found");
    const latest = [...new Map(found.all.toReversed().map((one) => [one.context, one])).values()];
    const states = new Set(latest.map((one) => one.state));
    const state =
      states.has("failure") || states.has("error")
        ? "failure"
        : states.size === 1 && states.has("success")
          ? "success"
          : "pending";
    const query = new URLSearchParams(request.search);
    const perPage = Math.min(Number(query.get("per_page") ?? 30), 100);
    const page = Number(query.get("page") ?? 1);
    const { body } = await this.#pass(request, { pathname: `/repos/${repository}`, search: "" });
    const url = `${this.#url}/repos/${repository}/commits/${found.sha}`;
    return ok({
      state,
      statuses: latest
        .slice((page - 1) * perPage, page * perPage)
        .map(({ creator: _creator, ...one }) => ({ ...one, required: null })),
      sha: found.sha,
      total_count: latest.length,
      repository: body,
      commit_url: url,
      url: `${url}/status`,
    });
  }

  /** emulate has no rulesets: they are kept here. */
  async #listRules(
    /** @type {ProxyRequest} */ request,
    /** @type {string} */ repository,
    /** @type {string | undefined} */ branch,
  ) {
    const { status } = await this.#pass(request, { pathname: `/repos/${repository}`, search: "" });
    if (status !== 200) return say(404, "Not Found");
    return ok(this.#rules.get(`${repository}:${branch}`) ?? []);
  }

  /** emulate names permissions as in requests, and answers 404 for users without any. */
  async #permission(/** @type {ProxyRequest} */ request, /** @type {string | undefined} */ login) {
    const answer = await this.#pass(request);
    const names = /** @type {Record<string, string>} */ ({
      push: "write",
      maintain: "write",
      pull: "read",
      triage: "read",
    });
    if (answer.status === 200) {
      const { permission } = answer.body;
      return { ...answer, body: { ...answer.body, permission: names[permission] ?? permission } };
    }
    const user = await this.#pass(request, { pathname: `/users/${login}`, search: "" });
    if (user.status !== 200) return answer;
    return ok({ permission: "read", role_name: "read", user: user.body });
  }

  /** emulate answers 404 for a reference that is gone; GitHub 422. */
  async #deleteRef(/** @type {ProxyRequest} */ request) {
    const answer = await this.#pass(request);
    return answer.status === 404 ? say(422, "Reference does not exist") : answer;
  }
}

/** GitHub's answers carry an ETag; the same body has the same one. @param {string} text */
export function etagOf(text) {
  return `"${createHash("sha256").update(text).digest("hex")}"`;
}
