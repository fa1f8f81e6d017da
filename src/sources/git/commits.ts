import type { ObjectReader } from "./objects.ts";
import { git, type Repository } from "./repository.ts";

/** What sync needs of a commit. */
export type Commit = {
  oid: string;
  tree: string;
  author: string;
  /** Committer time in epoch milliseconds, UTC. */
  at: number;
  subject: string;
};

/** The newest commit of `revision`, e.g. `refs/heads/main`; undefined where there is none yet. */
export async function readCommit(
  objects: ObjectReader,
  revision: string,
): Promise<Commit | undefined> {
  const object = await objects.read(`${revision}^{commit}`);
  return object?.type === "commit"
    ? parseCommit(object.oid, object.content.toString("utf8"))
    : undefined;
}

function parseCommit(oid: string, text: string): Commit {
  const gap = text.indexOf("\n\n");
  const header = gap < 0 ? text : text.slice(0, gap);
  const field = (name: string) => new RegExp(`^${name} (.*)$`, "m").exec(header)?.[1] ?? "";
  const seconds = Number(/ (\d+) [+-]\d{4}$/.exec(field("committer"))?.[1] ?? 0);
  return {
    oid,
    tree: field("tree"),
    author: field("author").replace(/ \d+ [+-]\d{4}$/, ""),
    at: seconds * 1_000,
    subject: gap < 0 ? "" : (text.slice(gap + 2).split("\n")[0] ?? ""),
  };
}

/** A file of a commit's tree. */
export type TreeFile = { oid: string; mode: "file" | "executable" | "symlink" | "submodule" };

/**
 * The files of a commit below `folders` (all of them where there are none), by path from the top.
 * Submodules are left out, because their files are another repository's, unless asked for.
 */
export async function listTree(
  repository: Pick<Repository, "gitDir">,
  commit: string,
  folders: string[],
  { submodules = false }: { submodules?: boolean } = {},
): Promise<Map<string, TreeFile>> {
  const listed = await git(repository, [
    "ls-tree",
    "-r",
    "-z",
    "--full-tree",
    commit,
    "--",
    ...folders,
  ]);
  const files = new Map<string, TreeFile>();
  for (const entry of listed.split("\0")) {
    const match = /^(100644|100664|100755|120000|160000) \w+ ([0-9a-f]+)\t([\s\S]+)$/.exec(entry);
    if (!match || (match[1] === "160000" && !submodules)) continue;
    files.set(match[3] ?? "", { oid: match[2] ?? "", mode: modeOf(match[1] ?? "") });
  }
  return files;
}

function modeOf(mode: string): TreeFile["mode"] {
  if (mode === "120000") return "symlink";
  if (mode === "160000") return "submodule";
  return mode === "100755" ? "executable" : "file";
}

/** One file that differs between two commits; `from` where git sees a move. */
export type TreeChange = {
  kind: "added" | "changed" | "deleted" | "moved";
  path: string;
  from?: string;
};

/** What differs between two commits below `folders`. */
export async function changedFiles(
  repository: Repository,
  [before, after]: readonly [string, string],
  folders: string[],
): Promise<TreeChange[]> {
  const shown = await git(repository, [
    "diff-tree",
    "-r",
    "-z",
    "-M",
    "--no-commit-id",
    "--name-status",
    before,
    after,
    "--",
    ...folders,
  ]);
  const fields = shown.split("\0");
  const changes: TreeChange[] = [];
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const status = fields[index] ?? "";
    const path = fields[index + 1] ?? "";
    if (status.startsWith("R")) {
      changes.push({ kind: "moved", path: fields[index + 2] ?? "", from: path });
      index += 1;
    } else {
      changes.push({ kind: kindOf(status), path });
    }
  }
  return changes;
}

function kindOf(status: string): TreeChange["kind"] {
  if (status === "A") return "added";
  return status === "D" ? "deleted" : "changed";
}
