import { execFileSync, spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { styleText } from "node:util";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CLI = path.join(ROOT, "dist/cli/main.js");
const MANAGER = "pull-request";

/** A throw-away repository and state folder in which commands are run and shown. */
export class Stage {
  #folder = mkdtempSync(path.join(tmpdir(), "pi-workflows-demo-"));
  #env;
  #closers = [];
  #began = Date.now();

  constructor() {
    this.project = path.join(this.#folder, "automation");
    // A home of its own, so that nothing of the user's is read or written; with it goes gh's login.
    this.#env = {
      ...process.env,
      HOME: path.join(this.#folder, "home"),
      PI_WORKFLOWS_HOME: path.join(this.#folder, "state"),
      GH_CONFIG_DIR: process.env.GH_CONFIG_DIR ?? path.join(process.env.HOME ?? "", ".config/gh"),
      // Often enough to watch, and not so often that it looks like a manager that spins.
      PULL_REQUEST_POLL_MS: "2500",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_AUTHOR_NAME: "You",
      GIT_AUTHOR_EMAIL: "you@example.com",
      GIT_COMMITTER_NAME: "You",
      GIT_COMMITTER_EMAIL: "you@example.com",
    };
    mkdirSync(this.#env.HOME, { recursive: true });
    for (const example of ["pull-request", "folder"]) {
      const specs = path.join(ROOT, "examples", example, ".pi/resources");
      cpSync(path.join(ROOT, "examples", example, ".pi"), path.join(this.project, ".pi"), {
        recursive: true,
        filter: (from) => from !== specs,
      });
    }
    // Stands for `npm install octokit zod` in the repository.
    symlinkSync(path.join(ROOT, "node_modules"), path.join(this.project, "node_modules"));
    writeFileSync(path.join(this.project, ".gitignore"), "node_modules\n");
    this.git("init", "--quiet", "--initial-branch=main");
    this.commit("Two resource managers");
  }

  /** A path in the home folder of the demo's user. */
  home(name) {
    return path.join(this.#env.HOME, name);
  }

  /** For the commands, and for the server that the first of them starts. */
  setEnv(variables) {
    Object.assign(this.#env, variables);
  }

  /** A heading of the story. */
  say(text) {
    console.log(`\n${styleText("bold", text)}`);
  }

  note(text) {
    console.log(styleText("dim", `  ${text}`));
  }

  git(...args) {
    execFileSync("git", ["-C", this.project, ...args], { env: this.#env, stdio: "inherit" });
  }

  commit(message) {
    this.git("add", "--all");
    this.git("commit", "--quiet", "--message", message);
  }

  /** Writes a file below `.pi/resources`. */
  write(file, text) {
    const target = path.join(this.project, ".pi/resources", file);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, text);
  }

  /** A path that the demo may use, and that goes with it. */
  scratch(name) {
    return path.join(this.#folder, "scratch", name);
  }

  /** Writes a spec file, shows it, and commits it. */
  commitSpec(file, spec) {
    const text = `${JSON.stringify(spec, null, 2)}\n`;
    this.write(file, text);
    console.log(text.trimEnd().replace(/^/gm, "  "));
    this.commit(`Ask for ${spec.key}`);
    this.note(`committed as .pi/resources/${file}`);
  }

  /** Runs a command of pi-workflows and shows it with what it prints. */
  run(args, { exits = [0] } = {}) {
    console.log(styleText("cyan", `\n$ pi-workflows ${args.map(quoted).join(" ")}`));
    const { status } = spawnSync(process.execPath, [CLI, ...args], {
      cwd: this.project,
      env: this.#env,
      stdio: "inherit",
    });
    if (!exits.includes(status)) throw new Error(`pi-workflows ${args[0]} ended with ${status}`);
  }

  /** What a command prints as JSON. */
  read(args, { exits = [0] } = {}) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, ...args, "-o", "json"], {
      cwd: this.project,
      env: this.#env,
      encoding: "utf8",
    });
    if (!exits.includes(status)) throw new Error(stderr);
    return JSON.parse(stdout);
  }

  /** Prints a resource's events as they happen, until `close`. */
  follow(key) {
    const child = spawn(process.execPath, [CLI, "events", "-f", "--for", `${MANAGER}/${key}`], {
      cwd: this.project,
      env: this.#env,
      stdio: ["ignore", "inherit", "ignore"],
    });
    const stop = () => {
      if (child.exitCode !== null || child.signalCode !== null) return undefined;
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      return ended;
    };
    this.#closers.push(stop);
    return stop;
  }

  /** Waits until the resource's Ready condition has this reason, or any where none is given. */
  async until(key, reason, seconds = 60) {
    const deadline = Date.now() + seconds * 1_000;
    let last = "nothing yet";
    while (Date.now() < deadline) {
      const { items } = this.read(["get", MANAGER]);
      const shown = items.find(({ metadata }) => metadata.key === key);
      const ready = shown?.conditions.find(({ type }) => type === "Ready");
      last = ready ? `${ready.reason}: ${ready.message ?? ""}` : last;
      if (ready && (reason === undefined || ready.reason === reason)) return;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    throw new Error(`${key} did not become ${reason}; it says ${last}`);
  }

  onClose(closer) {
    this.#closers.push(closer);
  }

  async close() {
    for (const closer of this.#closers.splice(0).reverse()) await closer();
    spawnSync(process.execPath, [CLI, "server", "stop"], { env: this.#env, cwd: tmpdir() });
    rmSync(this.#folder, { recursive: true, force: true });
    this.note(`${Math.round((Date.now() - this.#began) / 1_000)} s; nothing is left behind`);
  }
}

function quoted(word) {
  return /^[\w./:@#=-]+$/.test(word) ? word : `'${word}'`;
}
