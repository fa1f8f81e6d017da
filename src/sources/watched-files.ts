import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import path from "node:path";
import { glob } from "tinyglobby";

/** Files as they were found: by path relative to the project, what tells one state from another. */
export type FoundFiles = {
  files: ReadonlyMap<string, string>;
  /** Folders in which a change may matter, absolute. */
  folders: ReadonlySet<string>;
  /** When the latest of them was changed, epoch milliseconds; 0 where there are none. */
  newestAt: number;
  /** True where there were more files than allowed: the first ones, by path, are in `files`. */
  isCut: boolean;
};

const IGNORE = ["**/node_modules/**", "**/.git/**"];
/** Files looked at at once. */
const STATS_AT_ONCE = 64;

/** Finds the files of a project that match, without reading them. Links are not followed. */
export async function findFiles(
  project: string,
  globs: readonly string[],
  most: number,
): Promise<FoundFiles> {
  const options = { cwd: project, dot: true, followSymbolicLinks: false, ignore: IGNORE };
  const common = { ...options, expandDirectories: false };
  const found = (await glob([...globs], { ...common, onlyFiles: true })).sort();
  const bases = new Set(globs.map(baseOf));
  const below = [...bases].map((base) => (base === "" ? "**" : `${base}/**`));
  const inner = await glob(below, { ...common, onlyDirectories: true });
  const files = new Map<string, string>();
  let newestAt = 0;
  const wanted = found.slice(0, most);
  for (let from = 0; from < wanted.length; from += STATS_AT_ONCE) {
    const names = wanted.slice(from, from + STATS_AT_ONCE);
    const states = await Promise.all(names.map((name) => stateOf(path.join(project, name))));
    for (const [index, state] of states.entries()) {
      // Gone since it was listed.
      if (state === undefined) continue;
      files.set(names[index] as string, state.text);
      newestAt = Math.max(newestAt, state.at);
    }
  }
  const outer = [...bases].map((base) => nearestFolder(project, base));
  const folders = new Set([...outer, ...inner.map((folder) => path.resolve(project, folder))]);
  return { files, folders, newestAt, isCut: found.length > most };
}

/** Paths that are new, gone, or in another state. */
export function changedFiles(
  before: ReadonlyMap<string, string>,
  now: ReadonlyMap<string, string>,
): string[] {
  const changed = [...now].filter(([file, state]) => before.get(file) !== state);
  const gone = [...before.keys()].filter((file) => !now.has(file));
  return [...changed.map(([file]) => file), ...gone].sort();
}

/** Equal for equal paths and states. */
export function fingerprintFiles(files: ReadonlyMap<string, string>): string {
  return hash("sha256", JSON.stringify([...files]), "hex");
}

/** The folder that every match of the glob lies in. */
function baseOf(pattern: string): string {
  const parts = pattern.split("/");
  const dynamic = parts.findIndex((part) => /[*?[\]{}()!+@\\]/.test(part));
  return parts.slice(0, dynamic === -1 ? -1 : dynamic).join("/");
}

/** The folder, or where it would be made. */
function nearestFolder(project: string, base: string): string {
  let folder = path.resolve(project, base);
  while (folder !== project && !existsSync(folder)) folder = path.dirname(folder);
  return folder;
}

async function stateOf(file: string): Promise<{ text: string; at: number } | undefined> {
  try {
    const { mtimeNs, ctimeMs, size } = await stat(file, { bigint: true });
    return { text: `${mtimeNs} ${size}`, at: Number(ctimeMs) };
  } catch {
    return undefined;
  }
}
