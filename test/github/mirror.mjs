// @ts-check
/**
 * A stand-in's repository as a real one on disk, to be fetched from: the emulator names its objects
 * as git does, so the commits have the same names here and there.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";

/** @typedef {(path: string) => Promise<any>} Read */

/**
 * Writes the branches of `repository`, and each pull request's head under `refs/pull/N/head`, into a
 * bare repository at `folder`, which may be there from before.
 * @param {Read} read @param {string} repository @param {string} folder
 */
export async function writeMirror(read, repository, folder) {
  const mirror = new Mirror(read, repository, folder);
  const branches = await read(`/repos/${repository}/branches?per_page=100`);
  for (const { name, commit } of branches) await mirror.ref(`refs/heads/${name}`, commit.sha);
  const pulls = await read(`/repos/${repository}/pulls?state=all&per_page=100`);
  for (const { number, head } of pulls) {
    // The emulator shows the head that a pull request was opened with, also after a push.
    const branch = branches.find((/** @type {any} */ { name }) => name === head.ref);
    await mirror.ref(`refs/pull/${number}/head`, branch?.commit.sha ?? head.sha);
  }
}

class Mirror {
  #read;
  #repository;
  #folder;
  #written = new Set();

  /** @param {Read} read @param {string} repository @param {string} folder */
  constructor(read, repository, folder) {
    this.#read = read;
    this.#repository = repository;
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
    this.#git(["init", "--bare", "--quiet"]);
  }

  /** @param {string} name @param {string} sha */
  async ref(name, sha) {
    await this.#commit(sha);
    this.#git(["update-ref", name, sha]);
  }

  /** @param {string} sha @returns {Promise<void>} */
  async #commit(sha) {
    if (!this.#isNew(sha)) return;
    const commit = await this.#read(`/repos/${this.#repository}/git/commits/${sha}`);
    for (const parent of commit.parents) await this.#commit(parent.sha);
    await this.#tree(commit.tree.sha);
    const who = (/** @type {any} */ { name, email, date }) =>
      `${name} <${email}> ${Math.floor(Date.parse(date) / 1_000)} +0000`;
    const lines = [
      `tree ${commit.tree.sha}`,
      ...commit.parents.map((/** @type {any} */ parent) => `parent ${parent.sha}`),
      `author ${who(commit.author)}`,
      `committer ${who(commit.committer)}`,
      "",
      commit.message.endsWith("\n") ? commit.message : `${commit.message}\n`,
    ];
    this.#write("commit", sha, Buffer.from(lines.join("\n")));
  }

  /** @param {string} sha @returns {Promise<void>} */
  async #tree(sha) {
    if (!this.#isNew(sha)) return;
    const { tree } = await this.#read(`/repos/${this.#repository}/git/trees/${sha}`);
    for (const entry of tree) {
      if (entry.type === "tree") await this.#tree(entry.sha);
      else await this.#blob(entry.sha);
    }
    const lines = tree.map(
      (/** @type {any} */ { mode, type, sha: of, path }) => `${mode} ${type} ${of}\t${path}\0`,
    );
    this.#same(sha, this.#git(["mktree", "-z"], Buffer.from(lines.join(""))));
  }

  /** @param {string} sha */
  async #blob(sha) {
    if (!this.#isNew(sha)) return;
    const { content, encoding } = await this.#read(`/repos/${this.#repository}/git/blobs/${sha}`);
    this.#write("blob", sha, Buffer.from(content, encoding === "base64" ? "base64" : "utf8"));
  }

  /** @param {string} sha */
  #isNew(sha) {
    if (this.#written.has(sha)) return false;
    this.#written.add(sha);
    return true;
  }

  /** @param {"blob" | "commit"} type @param {string} sha @param {Buffer} bytes */
  #write(type, sha, bytes) {
    this.#same(sha, this.#git(["hash-object", "-w", "-t", type, "--stdin"], bytes));
  }

  /** @param {string} wanted @param {string} written */
  #same(wanted, written) {
    if (wanted !== written) throw new Error(`mirror: ${wanted} was written as ${written}`);
  }

  /** @param {string[]} words @param {Buffer} [input] */
  #git(words, input) {
    const options = input === undefined ? {} : { input };
    const { status, stdout, stderr } = spawnSync("git", ["-C", this.#folder, ...words], options);
    if (status !== 0) throw new Error(`git ${words[0]}: ${stderr}`);
    return String(stdout).trim();
  }
}
