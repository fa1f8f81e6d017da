// @ts-check
/** Puts repositories, branches, pull requests, checks and reviews into a stand-in. */
import { writeMirror } from "./mirror.mjs";
import { tokenOf, USERS } from "./users.mjs";

/**
 * @typedef {import("./provider.mjs").Upstream} Upstream
 * @typedef {{ repository: string, number: number, headSha: string, headRef: string, baseRef: string }} SeededPull
 */

const OWNER = /** @type {string} */ (USERS[0]);

/** Everything here goes to GitHub directly: it is no part of the log of writes. */
export class Seeds {
  #upstream;
  #provider;
  #count = 0;

  /** @param {Upstream} upstream @param {import("./provider.mjs").Provider} provider */
  constructor(upstream, provider) {
    this.#upstream = upstream;
    this.#provider = provider;
  }

  /**
   * A repository with one commit on `main`; alice and bob may write. Returns its full name.
   * @param {{ name?: string, settings?: Record<string, unknown> }} [options]
   */
  async repository({ name = `widgets-${++this.#count}`, settings = {} } = {}) {
    const repo = await this.#write(OWNER, "POST", "/user/repos", {
      name,
      auto_init: true,
      ...settings,
    });
    for (const login of ["alice", "bob"]) {
      const path = `/repos/${repo.full_name}/collaborators/${login}`;
      await this.#write(OWNER, "PUT", path, { permission: "push" });
    }
    return /** @type {string} */ (repo.full_name);
  }

  /**
   * A pull request of one commit on its own branch.
   * @param {string} repository
   * @param {{ branch?: string, title?: string, body?: string, draft?: boolean, author?: string, base?: string, from?: string }} [options]
   * @returns {Promise<SeededPull>}
   */
  async pull(repository, options = {}) {
    const { branch = `change-${++this.#count}`, author = "alice", base = "main" } = options;
    const { title = `Change ${branch}`, body = "Why it changes.", draft = false } = options;
    await this.branch(repository, branch, options.from ?? base);
    const headSha = await this.commit(repository, branch, `${title}\n`);
    const path = `/repos/${repository}/pulls`;
    const pull = await this.#write(author, "POST", path, {
      title,
      body,
      head: branch,
      base,
      draft,
    });
    return { repository, number: pull.number, headSha, headRef: branch, baseRef: base };
  }

  async branch(
    /** @type {string} */ repository,
    /** @type {string} */ name,
    /** @type {string} */ from,
    login = OWNER,
  ) {
    const sha = await this.tip(repository, from);
    await this.#write(login, "POST", `/repos/${repository}/git/refs`, {
      ref: `refs/heads/${name}`,
      sha,
    });
  }

  /** One more commit on a branch; a pull request of it has a new head, a base has moved. */
  async commit(
    /** @type {string} */ repository,
    /** @type {string} */ branch,
    /** @type {string} */ message,
    login = OWNER,
  ) {
    const path = `/repos/${repository}/contents/file-${++this.#count}.txt`;
    const content = Buffer.from(`${message} ${this.#count}\n`).toString("base64");
    const { commit } = await this.#write(login, "PUT", path, { message, content, branch });
    return /** @type {string} */ (commit.sha);
  }

  /** One more commit of one file with this text. */
  async file(
    /** @type {string} */ repository,
    /** @type {string} */ branch,
    /** @type {string} */ file,
    /** @type {string} */ text,
  ) {
    const path = `/repos/${repository}/contents/${file}`;
    const before = await this.#find(`${path}?ref=${branch}`);
    const { commit } = await this.#write(OWNER, "PUT", path, {
      message: `Write ${file}`,
      content: Buffer.from(text).toString("base64"),
      branch,
      ...(before === undefined ? {} : { sha: before.sha }),
    });
    return /** @type {string} */ (commit.sha);
  }

  /** The text of a file at the tip of a branch; undefined where there is none. */
  async text(
    /** @type {string} */ repository,
    /** @type {string} */ branch,
    /** @type {string} */ file,
  ) {
    const found = await this.#find(`/repos/${repository}/contents/${file}?ref=${branch}`);
    return found && Buffer.from(found.content, "base64").toString();
  }

  /** Writes the repository as it is now to a bare one on disk, to be fetched from. */
  mirror(/** @type {string} */ repository, /** @type {string} */ folder) {
    return writeMirror((path) => this.#read(path), repository, folder);
  }

  /** A new head that does not descend from the old one. */
  async forcePush(/** @type {string} */ repository, /** @type {string} */ branch, base = "main") {
    const root = await this.#read(
      `/repos/${repository}/git/commits/${await this.tip(repository, base)}`,
    );
    const commit = await this.#write(OWNER, "POST", `/repos/${repository}/git/commits`, {
      message: `Rewritten ${++this.#count}`,
      tree: root.tree.sha,
      parents: [root.sha],
    });
    const path = `/repos/${repository}/git/refs/heads/${branch}`;
    await this.#write(OWNER, "PATCH", path, { sha: commit.sha, force: true });
    return /** @type {string} */ (commit.sha);
  }

  async tip(/** @type {string} */ repository, /** @type {string} */ branch) {
    const ref = await this.#read(`/repos/${repository}/git/ref/heads/${branch}`);
    return /** @type {string} */ (ref.object.sha);
  }

  async branches(/** @type {string} */ repository) {
    const all = await this.#read(`/repos/${repository}/branches?per_page=100`);
    return /** @type {string[]} */ (all.map((/** @type {any} */ branch) => branch.name));
  }

  /** Messages of the commits of a branch, newest first. */
  async messages(/** @type {string} */ repository, branch = "main") {
    const commits = await this.#read(`/repos/${repository}/commits?sha=${branch}&per_page=100`);
    return /** @type {string[]} */ (commits.map((/** @type {any} */ one) => one.commit.message));
  }

  /**
   * A check run on a commit; completed with `conclusion`, or with another status and none.
   * @param {string} repository @param {string} sha
   * @param {{ name?: string, conclusion?: string, status?: string, appId?: number }} [options]
   */
  async check(
    repository,
    sha,
    { name = "ci", conclusion = "success", status = "completed", appId } = {},
  ) {
    const run = await this.#write(OWNER, "POST", `/repos/${repository}/check-runs`, {
      name,
      head_sha: sha,
      status,
      ...(status === "completed" ? { conclusion } : {}),
      ...(appId === undefined ? {} : { app_id: appId }),
    });
    return /** @type {number} */ (run.id);
  }

  /** @param {string} repository @param {string} sha @param {string} context @param {string} state */
  async status(repository, sha, context, state) {
    await this.#provider.answer({
      method: "POST",
      pathname: `/repos/${repository}/statuses/${sha}`,
      search: "",
      headers: {},
      token: tokenOf(OWNER),
      body: { context, state },
    });
  }

  /** @param {SeededPull} pull @param {string} login @param {"APPROVE" | "REQUEST_CHANGES" | "COMMENT"} [event] @param {string} [sha] */
  async review(pull, login, event = "APPROVE", sha) {
    const path = `/repos/${pull.repository}/pulls/${pull.number}/reviews`;
    const commit_id = sha ?? (await this.tip(pull.repository, pull.headRef));
    await this.#write(login, "POST", path, { event, commit_id, body: "" });
  }

  async label(/** @type {SeededPull} */ pull, /** @type {string[]} */ ...labels) {
    const path = `/repos/${pull.repository}/issues/${pull.number}/labels`;
    await this.#write(OWNER, "POST", path, { labels });
  }

  async unlabel(/** @type {SeededPull} */ pull, /** @type {string} */ label) {
    const path = `/repos/${pull.repository}/issues/${pull.number}/labels/${label}`;
    await this.#write(OWNER, "DELETE", path);
  }

  /** Title, state, draft or base. @param {SeededPull} pull @param {Record<string, unknown>} changes */
  async edit(pull, changes) {
    await this.#write(OWNER, "PATCH", `/repos/${pull.repository}/pulls/${pull.number}`, changes);
  }

  /** A merge by a person. @param {SeededPull} pull */
  async mergeByHand(pull, login = "bob") {
    const answer = await this.#provider.answer({
      method: "PUT",
      pathname: `/repos/${pull.repository}/pulls/${pull.number}/merge`,
      search: "",
      headers: {},
      token: tokenOf(login),
      body: { merge_method: "squash" },
    });
    if (answer.status !== 200) throw new Error(`merge by hand: ${answer.status}`);
  }

  /** What branch protection requires. @param {string} repository @param {string} branch @param {{ checks?: string[], approvals?: number }} rules */
  async protect(repository, branch, { checks = [], approvals = 0 }) {
    await this.#write(OWNER, "PUT", `/repos/${repository}/branches/${branch}/protection`, {
      required_status_checks: checks.length > 0 ? { strict: false, contexts: checks } : null,
      enforce_admins: false,
      required_pull_request_reviews:
        approvals > 0 ? { required_approving_review_count: approvals } : null,
      restrictions: null,
    });
  }

  /** The rules that rulesets put on a branch. @param {string} repository @param {string} branch @param {any[]} rules */
  rules(repository, branch, rules) {
    this.#provider.setRules(repository, branch, rules);
  }

  /** Fields that `GET pull` shows instead of the emulator's, e.g. `{ mergeable: null }`. @param {SeededPull} pull @param {Record<string, unknown>} fields */
  show(pull, fields) {
    this.#provider.show(`${pull.repository}#${pull.number}`, fields);
  }

  /** Renames a repository; the old name redirects. Returns the new full name. */
  async rename(/** @type {string} */ repository, /** @type {string} */ name) {
    const { id } = await this.#read(`/repos/${repository}`);
    const renamed = await this.#write(OWNER, "PATCH", `/repos/${repository}`, { name });
    this.#provider.renamed(repository, id);
    return /** @type {string} */ (renamed.full_name);
  }

  /** @param {SeededPull} pull */
  async read(pull) {
    return (
      await this.#provider.answer({
        method: "GET",
        pathname: `/repos/${pull.repository}/pulls/${pull.number}`,
        search: "",
        headers: {},
        token: tokenOf(OWNER),
        body: undefined,
      })
    ).body;
  }

  /** Bodies of the comments of a pull request. @param {SeededPull} pull */
  async comments(pull) {
    const path = `/repos/${pull.repository}/issues/${pull.number}/comments?per_page=100`;
    return /** @type {string[]} */ (
      (await this.#read(path)).map((/** @type {any} */ one) => one.body)
    );
  }

  /** @param {string} path @returns {Promise<any>} */
  async #find(path) {
    const answer = await this.#upstream("GET", path, { token: tokenOf(OWNER) });
    return answer.status === 200 ? answer.body : undefined;
  }

  /** @param {string} path @returns {Promise<any>} */
  async #read(path) {
    return this.#write(OWNER, "GET", path);
  }

  /** @param {string} login @param {string} method @param {string} path @param {unknown} [body] @returns {Promise<any>} */
  async #write(login, method, path, body) {
    const answer = await this.#upstream(method, path, {
      token: tokenOf(login),
      ...(body === undefined ? {} : { body }),
    });
    if (answer.status >= 300) {
      throw new Error(`seed: ${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    }
    return answer.body;
  }
}
