import { type Dirent, readdirSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import { globSync, isDynamicPattern } from "tinyglobby";
import { LIMITS } from "../model/limits.ts";
import type { Problem } from "../model/manifest.ts";
import { displayPath, isBelow } from "./project.ts";
import { SPEC_FILE } from "./spec-file.ts";
import { LINK_LOOP, problemOf } from "./text.ts";

/** Where to look for spec files. */
export type DiscoverRequest = {
  /** Canonical path of the project. */
  project: string;
  /** Files, folders and globs; relative ones count from `cwd`. */
  paths: string[];
  cwd: string;
  /** Whether to look into the folders of folders. */
  recursive: boolean;
};

/** The spec files found, absolute and sorted, and what could not be looked at. */
export type Discovered = {
  files: string[];
  problems: Problem[];
  /** Real paths of the folders where these files are, and of others looked into. */
  folders: string[];
};

/** What a file that is named outright may be called as well. */
const NAMED_FILE = /\.(?:json|jsonc|ts|mts|js|mjs)$/;
const NEVER_ENTERED = new Set(["node_modules", ".git"]);

type Search = {
  request: DiscoverRequest;
  /** By real path: the path it was found at, which differs where that is a link. */
  found: Map<string, string>;
  problems: Problem[];
  /** Real paths of the folders searched. */
  roots: string[];
  folders: string[];
};

/** Finds the spec files that paths, folders and globs name. Reads folders, not files. */
export function discoverSpecs(request: DiscoverRequest): Discovered {
  const steps = discover(request);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** `discoverSpecs` for a process with other things to do: `turn` is called after each few files. */
export async function discoverInTurns(
  request: DiscoverRequest,
  turn: () => Promise<void> | undefined,
): Promise<Discovered> {
  const steps = discover(request);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    const pause = turn();
    if (pause) await pause;
  }
}

function* discover(request: DiscoverRequest): Generator<void, Discovered> {
  const search: Search = { request, found: new Map(), problems: [], roots: [], folders: [] };
  for (const named of request.paths) yield* lookAt(search, named);
  const files = [...search.found.values()].sort();
  const { problems, folders } = search;
  const tooMany = tooManyFiles(files.length);
  if (tooMany) return { files: [], problems: [...problems, tooMany], folders };
  return { files, problems, folders };
}

/** The problem of a load with more spec files than one load may have; undefined where it fits. */
export function tooManyFiles(count: number): Problem | undefined {
  if (count <= LIMITS.files) return undefined;
  const message = `${count} spec files were found; at most ${LIMITS.files} are allowed`;
  return problemOf(".", message);
}

function* lookAt(search: Search, named: string): Generator<void, void> {
  const { cwd, recursive } = search.request;
  const target = path.resolve(cwd, named);
  const stats = attempt(search, target, () => statSync(target, { throwIfNoEntry: false }));
  if (stats === FAILED) return;
  if (stats === undefined && isDynamicPattern(named)) lookAtGlob(search, named);
  else if (stats === undefined) fail(search, target, missing(target));
  else if (stats.isDirectory()) {
    if (isLedOut(search, target)) return;
    const folder = realpathSync(target);
    search.roots.push(folder);
    yield* walk(search, folder, recursive);
  } else if (NAMED_FILE.test(target)) addNamed(search, target);
  else fail(search, target, "not a spec file: its name must end in .resource.json or .resource.ts");
}

/**
 * Tells of a path of the project that really lies elsewhere. Who names a file, or a folder that is not
 * the project's, means it; what a folder of the project is was said by whoever wrote the project.
 */
function isLedOut(search: Search, target: string): boolean {
  const inProject = [search.request.project];
  if (!isInside(inProject, target)) return false;
  const real = realpathSync(target);
  if (isInside(inProject, real)) return false;
  fail(search, target, `the symbolic link leads out of the project, to ${real}`);
  return true;
}

function missing(target: string): string {
  try {
    realpathSync(target);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ELOOP") return LINK_LOOP;
  }
  return "no such file or folder";
}

function lookAtGlob(search: Search, pattern: string): void {
  const { cwd } = search.request;
  const options = { cwd, absolute: true, dot: true, followSymbolicLinks: false };
  const ignore = [...NEVER_ENTERED].map((folder) => `**/${folder}/**`);
  const matches = globSync(pattern, { ...options, ignore }).filter((file) => SPEC_FILE.test(file));
  if (matches.length === 0) {
    fail(search, path.resolve(cwd, pattern), "the pattern matches no spec file");
  }
  for (const file of matches) {
    attempt(search, file, () => isLedOut(search, file) || addNamed(search, file));
  }
}

/** Entries of a folder between two turns. */
const STRIDE = 500;

function* walk(search: Search, folder: string, recursive: boolean): Generator<void, void> {
  const entries = attempt(search, folder, () => readdirSync(folder, { withFileTypes: true }));
  if (entries === FAILED) return;
  search.folders.push(folder);
  yield;
  entries.sort((left, right) => (left.name < right.name ? -1 : 1));
  for (const [index, entry] of entries.entries()) {
    if (index % STRIDE === STRIDE - 1) yield;
    const file = `${folder}${path.sep}${entry.name}`;
    if (entry.isSymbolicLink()) followLink(search, file, entry, recursive);
    else if (entry.isDirectory()) {
      if (recursive && !NEVER_ENTERED.has(entry.name)) yield* walk(search, file, recursive);
    } else if (SPEC_FILE.test(entry.name)) {
      if (entry.isFile()) add(search, { file, real: file });
      else fail(search, file, "not a regular file");
    }
  }
}

/** A link to a file in the project is read as that file; links to folders are not followed. */
function followLink(search: Search, link: string, { name }: Dirent, recursive: boolean): void {
  const isSpec = SPEC_FILE.test(name);
  if (!isSpec && !recursive) return;
  const real = attempt(search, link, () => realpathSync(link), isSpec);
  if (real === FAILED) return;
  const isFolder = statSync(real).isDirectory();
  if (isFolder && `${path.dirname(link)}/`.startsWith(`${real}/`)) {
    fail(search, link, `the symbolic link leads back to ${shown(search, real)}, around itself`);
  } else if (isFolder) {
    // What lies below a searched folder is found there.
    if (isInside(search.roots, real)) return;
    fail(search, link, `a link to a folder is not followed; name ${shown(search, real)} instead`);
  } else if (isSpec) {
    if (isInside([search.request.project], real)) {
      search.folders.push(path.dirname(real));
      add(search, { file: link, real });
    } else fail(search, link, `the symbolic link leads out of the project, to ${real}`);
  }
}

function isInside(folders: readonly string[], file: string): boolean {
  return folders.some((folder) => isBelow(folder, file));
}

/** Adds a file by a path whose folders are real, so that it lies in the project where it does. */
function addNamed(search: Search, target: string): void {
  const file = path.join(realpathSync(path.dirname(target)), path.basename(target));
  add(search, { file, real: realpathSync(target) });
}

function add(search: Search, { file, real }: { file: string; real: string }): void {
  const other = search.found.get(real);
  if (other === undefined) search.found.set(real, file);
  else if (other !== file) {
    fail(search, file, `this is the same file as ${shown(search, other)}; keep one`);
  }
}

const FAILED = Symbol("failed");

/** Runs `look`; what the file system refuses becomes a problem, unless nobody would miss it. */
function attempt<T>(
  search: Search,
  file: string,
  look: () => T,
  isWanted = true,
): T | typeof FAILED {
  try {
    return look();
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException;
    if (code === "ELOOP") fail(search, file, LINK_LOOP);
    else if (isWanted)
      fail(search, file, REASONS[code ?? ""] ?? `can't be read: ${code ?? message}`);
    return FAILED;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "can't be read: permission denied",
  EPERM: "can't be read: permission denied",
  ENOENT: "the symbolic link leads nowhere",
};

function fail(search: Search, file: string, message: string): void {
  search.problems.push(problemOf(shown(search, file), message));
}

function shown({ request }: Search, file: string): string {
  return displayPath(request.project, file);
}
