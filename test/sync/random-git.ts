import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { specFile, widget, type Repo } from "./syncing.ts";

/** Keys that sequences play with; the first is never removed, so that a set is never empty. */
const KEYS = ["anchor", "a", "b", "c", "d", "e"];
const BRANCHES = ["main", "topic", "feature/x"];

/** Numbers in [0, 1) that a seed gives again (mulberry32, public domain, by Tommy Ettinger). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A person at work in a repository, who does what a random source says. */
export class Worker {
  readonly #repo: Repo;
  readonly #random: () => number;
  readonly #second: string;
  /** What was done, for messages of failing tests. */
  readonly log: string[] = [];

  constructor(repo: Repo, random: () => number) {
    this.#repo = repo;
    this.#random = random;
    this.#second = `${repo.folder}-second`;
  }

  /** One step of everyday git; one that git refuses is left undone. */
  step(): void {
    const steps: [name: string, step: () => void][] = [
      ["commit", () => this.#commit()],
      ["commit", () => this.#commit()],
      ["amend", () => this.#amend()],
      ["checkout", () => this.#checkout()],
      ["checkout", () => this.#checkout()],
      ["stash", () => this.#stash()],
      ["merge", () => this.#joined("merge", "--no-edit")],
      ["rebase", () => this.#joined("rebase")],
      ["reset", () => this.#git("reset", "--hard", this.#pick(["HEAD~1", ...BRANCHES]))],
      ["rename", () => this.#renameAll()],
      ["work tree", () => this.#inSecondWorkTree()],
      ["dirty", () => this.#dirty()],
      ["force", () => this.#git("branch", "--force", "main", this.#pick(BRANCHES))],
      [
        "pack",
        () =>
          this.#git(
            ...this.#pick([
              ["pack-refs", "--all"],
              ["gc", "--quiet"],
            ]),
          ),
      ],
    ];
    const [name, step] = this.#pick(steps);
    this.log.push(name);
    try {
      step();
    } catch (thrown) {
      this.log.push(`  refused: ${String(thrown).split("\n")[1] ?? ""}`);
    }
  }

  /** Ends whatever is under way, and makes the bound branch one that can be synced whole. */
  finish(): void {
    for (const what of ["merge", "rebase"]) this.#try(what, "--abort");
    this.#try("reset", "--hard");
    this.#try("clean", "-fdq", ".pi");
    this.#try("worktree", "remove", "--force", this.#second);
    rmSync(this.#second, { recursive: true, force: true });
    this.#git("checkout", "--force", "main");
    const seen = new Set<string>();
    for (const { file, key, size } of this.declared()) {
      if (seen.has(key) || size === undefined) this.#git("rm", "--quiet", file);
      else seen.add(key);
    }
    if (!seen.has("anchor")) this.#write("anchor");
    this.#git("add", "--all");
    this.#git("commit", "--allow-empty", "--message", "the end");
  }

  /** What the bound branch's newest commit declares; without a size where the file is broken. */
  declared(): { file: string; key: string; size?: number }[] {
    const files = this.#git("ls-tree", "-r", "-z", "--name-only", "main", "--", ".pi/resources");
    return files
      .split("\0")
      .filter((file) => file !== "")
      .map((file) => {
        const text = this.#git("cat-file", "blob", `main:${file}`);
        if (!text.startsWith("{")) return { file, key: path.basename(file, ".resource.json") };
        const { key, spec } = JSON.parse(text) as { key: string; spec: { size: number } };
        return { file, key, size: spec.size };
      });
  }

  #commit(): void {
    const count = 1 + Math.floor(this.#random() * 3);
    for (let number = 0; number < count; number += 1) {
      const key = this.#pick(KEYS);
      if (key !== "anchor" && this.#random() < 0.25) this.#try("rm", "--quiet", specFile(key));
      else this.#write(key);
    }
    this.#git("add", "--all");
    this.#git("commit", "--allow-empty", "--message", `number ${this.log.length}`);
  }

  #amend(): void {
    this.#write(this.#pick(KEYS));
    this.#git("add", "--all");
    this.#git("commit", "--amend", "--no-edit");
  }

  #checkout(): void {
    const branch = this.#pick(BRANCHES);
    if (this.#try("rev-parse", "--verify", `refs/heads/${branch}`)) {
      this.#git("checkout", ...(this.#random() < 0.5 ? ["--force"] : []), branch);
    } else this.#git("checkout", "-b", branch);
  }

  #stash(): void {
    if (this.#random() < 0.5) {
      this.#dirty();
      this.#git("stash", "push", "--include-untracked");
    } else this.#git("stash", "pop");
  }

  /** A merge or rebase; a conflict is resolved, called off, or left for later. */
  #joined(...command: string[]): void {
    const [what = ""] = command;
    if (this.#try(...command, this.#pick(BRANCHES))) return;
    const choice = this.#random();
    if (choice < 0.3) this.#git(what, "--abort");
    if (choice >= 0.8) return;
    for (let left = 5; left > 0; left -= 1) {
      this.#try("checkout", this.#pick(["--ours", "--theirs"]), ".");
      this.#git("add", "--all");
      if (this.#try("-c", "core.editor=true", what, "--continue")) return;
    }
    this.#try(what, "--abort");
  }

  #renameAll(): void {
    const folder = `.pi/resources/${this.#pick(["one", "two", "three"])}`;
    mkdirSync(path.join(this.#repo.folder, folder), { recursive: true });
    const files = this.#git("ls-files", "-z", "--", ".pi/resources").split("\0");
    for (const file of files.filter((name) => name !== "")) {
      this.#try("mv", file, `${folder}/${path.basename(file)}`);
    }
    this.#git("commit", "--message", `rename to ${folder}`);
  }

  /** Commits to the bound branch from elsewhere while this work tree holds something else. */
  #inSecondWorkTree(): void {
    this.#git("worktree", "add", "--force", this.#second, this.#pick(BRANCHES));
    try {
      const key = this.#pick(KEYS);
      mkdirSync(path.dirname(path.join(this.#second, specFile(key))), { recursive: true });
      writeFileSync(path.join(this.#second, specFile(key)), this.#text(key));
      this.#git("-C", this.#second, "add", "--all");
      this.#git("-C", this.#second, "commit", "--message", "from the second work tree");
    } finally {
      this.#try("worktree", "remove", "--force", this.#second);
    }
  }

  #dirty(): void {
    if (this.#random() < 0.5) this.#write(this.#pick(KEYS));
    else this.#repo.write(specFile(this.#pick(KEYS)), "<<<<<<< not a spec\n");
  }

  #write(key: string): void {
    this.#repo.write(specFile(key), this.#text(key));
  }

  #text(key: string): string {
    return widget(key, { size: Math.floor(this.#random() * 1_000) }, { suspend: true });
  }

  #pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.#random() * items.length)] as T;
  }

  #git(...args: string[]): string {
    return this.#repo.git(...args);
  }

  #try(...args: string[]): boolean {
    try {
      this.#git(...args);
      return true;
    } catch {
      return false;
    }
  }
}
