import { hash } from "node:crypto";
import { accessSync, constants, type Dirent, readdirSync } from "node:fs";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { formatProblem, type Problem } from "../../model/manifest.ts";
import { discoverInTurns } from "../discover.ts";
import { globalNames, WORKFLOWS } from "../definition-files.ts";
import { DEFINITIONS_FOLDER, displayPath, isBelow, WORKFLOWS_FOLDER } from "../project.ts";
import { type FileState, readState } from "./file-state.ts";

/** What to look at. */
export type ScanRequest = {
  /** Canonical path of the project. */
  project: string;
  /** Folders that hold spec files, relative to the project. */
  roots: readonly string[];
  /** The folder of resource managers for every project, absolute; that of workflows lies beside it. */
  globalFolder: string;
  /**
   * Files that specs and definitions import, as places name them, with the hash of what was loaded:
   * only another content is a change.
   */
  imports: ReadonlyMap<string, string>;
};

/** What a work tree holds, as far as specs are concerned. Paths are as places name them. */
export type Scan = {
  /** Another one where content changed, whatever became of times and inodes. */
  id: string;
  /** By spec file: a hash of its content. */
  specs: ReadonlyMap<string, string>;
  /** By definition or imported file: a hash of its content. */
  others: ReadonlyMap<string, string>;
  /** What lies where spec files should, and can't be read as one. */
  problems: Problem[];
  /** Roots that are missing or unreadable, so that absence proves nothing. */
  absentRoots: string[];
  /** Folders looked into, absolute: changes in them matter. */
  folders: ReadonlySet<string>;
  /** When files that vanished, or look as if they were being written, should be looked at again. */
  doubtUntil: number | undefined;
  /** A file changed so recently that its times can't tell whether it changes again. */
  isRacy: boolean;
  /** CPU time that it took, in milliseconds. */
  costMs: number;
  /** For the next scan. */
  files: ReadonlyMap<string, Seen>;
};

type Seen = {
  kind: "spec" | "other";
  state: FileState;
  /** Since when it is not where it was, on the caller's clock. */
  missingSince?: number;
  /** Since when it looks cut off. */
  cutSince?: number;
};

/** A file is gone when it is still gone after this: editors delete, then write again. */
export const GRACE_MS = 200;
/** A file that looks cut off is one when it still does after this. */
export const RETRY_MS = 80;
/** Work between two turns of the event loop. */
const SLICE_MS = 4;
const CODE = /\.(?:[cm]?[jt]s|[jt]sx|json)$/;

/**
 * Looks at every file that matters, and reads those whose size, times or inode differ from what
 * `before` has. `now` is milliseconds of a monotonic clock. Throws only mistakes of this product.
 */
export async function scanWorkingTree(
  request: ScanRequest,
  before: Scan | undefined,
  now: number,
): Promise<Scan> {
  const { turn, spent } = slices();
  const { project, roots } = request;
  const { present, absent } = sortRoots(project, roots);
  const search = { project, paths: present, cwd: project, recursive: true };
  const found = await discoverInTurns(search, turn);
  const folders = new Set(found.folders);
  const others = otherFiles(request, folders);
  const files = new Map<string, Seen>();
  const epoch = Date.now();
  for (const [index, file] of [...found.files, ...others].entries()) {
    const name = displayPath(project, file);
    if (!files.has(name)) {
      const known = before?.files.get(name);
      const kind = index < found.files.length ? "spec" : "other";
      const state = readState(file, known?.state, epoch);
      if (state !== undefined) files.set(name, seen(kind, state, known, now));
    }
    // Ten thousand needless awaits would be felt.
    const pause = turn();
    if (pause) await pause;
  }
  for (const [name, known] of before?.files ?? []) {
    if (files.has(name) || !isWanted(name, known, request)) continue;
    // What is no longer found stays as it was until its absence is certain.
    const missingSince = known.missingSince ?? now;
    const isGone = now - missingSince >= GRACE_MS && canTell(project, name);
    if (!isGone) files.set(name, { ...known, missingSince });
  }
  const { problems } = found;
  const state = describe({ files, folders, problems, absentRoots: absent }, before, now);
  const id = before && isEqual(before, state, request) ? before.id : idOf(state);
  return { ...state, id, costMs: spent() };
}

/** Gives the event loop a turn when a slice of time is used up. */
function slices(): { turn: () => Promise<void> | undefined; spent: () => number } {
  let spent = 0;
  let began = performance.now();
  const pause = async (): Promise<void> => {
    await setImmediate();
    began = performance.now();
  };
  return {
    turn: () => {
      const lasted = performance.now() - began;
      if (lasted < SLICE_MS) return undefined;
      spent += lasted;
      return pause();
    },
    spent: () => spent + performance.now() - began,
  };
}

function sortRoots(
  project: string,
  roots: readonly string[],
): { present: string[]; absent: string[] } {
  const sorted: { present: string[]; absent: string[] } = { present: [], absent: [] };
  for (const root of roots) {
    const isThere = isReadable(path.join(project, root)) === true;
    (isThere ? sorted.present : sorted.absent).push(root);
  }
  return sorted;
}

/** Undefined where there is no such folder. */
function isReadable(folder: string): boolean | undefined {
  try {
    accessSync(folder, constants.R_OK | constants.X_OK);
    return true;
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR" ? undefined : false;
  }
}

/** Definitions, and what they and specs import: absolute paths. Adds where they lie to `folders`. */
function otherFiles(
  { project, globalFolder, imports }: ScanRequest,
  folders: Set<string>,
): string[] {
  const files = [...imports.keys()].map((file) => path.resolve(project, file));
  const list = (folder: string): void => {
    let entries: Dirent[];
    try {
      entries = readdirSync(folder, { withFileTypes: true });
    } catch {
      // Loading tells what is wrong with definitions that can't be read.
      return;
    }
    folders.add(folder);
    for (const entry of entries) {
      const file = path.join(folder, entry.name);
      if (CODE.test(entry.name)) files.push(file);
      else if (entry.isDirectory() && entry.name !== "node_modules") list(file);
    }
  };
  list(path.join(project, DEFINITIONS_FOLDER));
  list(path.join(project, WORKFLOWS_FOLDER));
  list(globalFolder);
  // The server writes its state there all the time, so that folder is not watched: sweeps notice.
  const unwatched = WORKFLOWS.globalFolder(globalFolder);
  for (const name of globalNames(WORKFLOWS, globalFolder)) files.push(path.join(unwatched, name));
  for (const folder of files.map((file) => path.dirname(file))) {
    if (folder !== unwatched) folders.add(folder);
  }
  return files;
}

function seen(kind: Seen["kind"], state: FileState, known: Seen | undefined, now: number): Seen {
  if (kind === "other" || !state.looksCut) {
    const isAsBefore = known?.state === state && known.kind === kind;
    return isAsBefore && known.missingSince === undefined ? known : { kind, state };
  }
  const isSame = known?.state.content === state.content;
  return { kind, state, cutSince: (isSame ? known.cutSince : undefined) ?? now };
}

function isWanted(name: string, { kind }: Seen, request: ScanRequest): boolean {
  if (kind === "spec") return request.roots.some((root) => isBelow(root, name));
  return isDefinitionPart(name, request);
}

/** Whether a file is one of a definition: its own, one beside it, or one that it imports. */
function isDefinitionPart(name: string, { project, imports, globalFolder }: ScanRequest): boolean {
  if (imports.has(name)) return true;
  const file = path.resolve(project, name);
  const folders = [DEFINITIONS_FOLDER, WORKFLOWS_FOLDER, globalFolder];
  if (folders.some((folder) => isBelow(path.resolve(project, folder), file))) return true;
  const isOfUser = path.dirname(file) === WORKFLOWS.globalFolder(globalFolder);
  return isOfUser && WORKFLOWS.pattern.test(path.basename(file));
}

/** Whether absence of a file proves that it is gone: the folder that should hold it can be read. */
function canTell(project: string, name: string): boolean {
  let folder = path.dirname(path.resolve(project, name));
  while (isReadable(folder) === undefined && folder !== path.dirname(folder)) {
    folder = path.dirname(folder);
  }
  return isReadable(folder) === true;
}

type Found = Pick<Scan, "problems" | "absentRoots" | "folders"> & { files: Map<string, Seen> };

function describe(
  found: Found,
  before: Scan | undefined,
  now: number,
): Omit<Scan, "id" | "costMs"> {
  if (before !== undefined && isSameFiles(before.files, found.files)) {
    const { specs, others } = before;
    return { ...found, specs, others, doubtUntil: undefined, isRacy: false };
  }
  const specs = new Map<string, string>();
  const others = new Map<string, string>();
  let doubtUntil = now;
  let isRacy = false;
  for (const [name, file] of found.files) {
    (file.kind === "spec" ? specs : others).set(name, file.state.content);
    isRacy ||= file.state.isRacy;
    doubtUntil = Math.max(doubtUntil, doubtOf(file) ?? now);
  }
  return { ...found, specs, others, doubtUntil: doubtUntil > now ? doubtUntil : undefined, isRacy };
}

/** Whether nothing was read, and nothing is in doubt: a file that is as it was is the same object. */
function isSameFiles(before: Scan["files"], after: Scan["files"]): boolean {
  if (before.size !== after.size) return false;
  for (const [name, file] of after) {
    if (before.get(name) !== file || file.state.isRacy) return false;
  }
  return true;
}

function doubtOf({ missingSince, cutSince }: Seen): number | undefined {
  if (missingSince !== undefined) return missingSince + GRACE_MS;
  return cutSince === undefined ? undefined : cutSince + RETRY_MS;
}

type Content = Pick<Scan, "specs" | "others" | "problems" | "absentRoots">;

function isEqual(before: Content, after: Content, request: ScanRequest): boolean {
  const messages = ({ problems }: Content) => problems.map(formatProblem).join("\0");
  return (
    changedSpecs(before, after).length === 0 &&
    changedOthers(before, after, request).length === 0 &&
    before.absentRoots.join("\0") === after.absentRoots.join("\0") &&
    messages(before) === messages(after)
  );
}

/** Names of files whose content is another one in `after`, or that only one of the two has. */
export function changedFiles(before: Scan, after: Scan, request: ScanRequest): string[] {
  return [...changedSpecs(before, after), ...changedOthers(before, after, request)];
}

function changedSpecs({ specs: before }: Content, { specs: after }: Content): string[] {
  if (before === after) return [];
  return [
    ...[...after].flatMap(([name, content]) => (before.get(name) === content ? [] : [name])),
    ...[...before.keys()].filter((name) => !after.has(name)),
  ];
}

/** A file that is imported now and was not looked at before is compared with what was loaded. */
function changedOthers(
  { others: before }: Content,
  { others: after }: Content,
  request: ScanRequest,
): string[] {
  const changed = [...after].filter(
    ([name, content]) => (before.get(name) ?? request.imports.get(name)) !== content,
  );
  const gone = [...before.keys()].filter((name) => !after.has(name));
  const missed = gone.filter((name) => isDefinitionPart(name, request));
  return [...changed.map(([name]) => name), ...missed];
}

function idOf({ specs, others, problems, absentRoots }: Content): string {
  const sorted = (files: ReadonlyMap<string, string>) =>
    [...files].sort(([left], [right]) => (left < right ? -1 : 1));
  const content = [sorted(specs), sorted(others), problems.map(formatProblem), absentRoots];
  return hash("sha256", JSON.stringify(content), "hex");
}
