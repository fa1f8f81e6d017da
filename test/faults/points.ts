import { fork } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { tempFolder } from "../server/temp.ts";
import { sized } from "./seeds.ts";
import { shim } from "./shim.ts";

/** What is done to files under a folder; see points-child.ts. */
export type Operation = "restore" | "backup" | "migrate" | "work";

/** How an operation ended whose changes failed from one on, and what it left. */
export type Failed = {
  place: string;
  left: number;
  /** The error of the operation. */
  code?: string;
  /** What a caller was told of each write: nothing, or an error. */
  told?: { key: string; code?: string }[];
};

/** What a caller is told of a disk that fails; SQLite says no more of a log that it can't make. */
export const REFUSAL = /^(?:STORE_FULL|UNSUPPORTED): .*(?:disk|CANTOPEN)/;

// In the tree, so that packages resolve.
const CHILD = path.resolve(`.test-results/points-child-${process.pid}.mjs`);

/** Has the child of this file's tests bundled before them. */
export function usePoints(): void {
  beforeAll(async () => {
    await build({
      entryPoints: ["test/faults/points-child.ts"],
      outfile: CHILD,
      bundle: true,
      format: "esm",
      platform: "node",
      packages: "external",
      logLevel: "silent",
    });
  });
  afterAll(() => rmSync(CHILD, { force: true }));
}

/** Does it once; what a kill before each change of a file leaves, in order, and what it leaves itself. */
export async function killedAtEach(operation: Operation, folder: string): Promise<string[]> {
  const points = makeFolder("points");
  await end([operation, folder], { SHIM_UNDER: `${folder}/`, SHIM_POINTS: points });
  const count = readdirSync(points).length;
  const copies = Array.from({ length: count }, (_, index) => path.join(points, `${index + 1}`));
  return [...copies, folder];
}

/** Does it often, each time with other changes that fail; the last time with none. */
export async function failingAt(
  operation: Operation,
  folder: string,
  { error, step }: { error: keyof typeof os.constants.errno; step: number },
): Promise<Failed[]> {
  const control = faultFile();
  const found: Failed[] = [];
  const args = [operation, folder, control, String(os.constants.errno[error]), String(step)];
  await end(args, { SHIM_UNDER: folder, SHIM_FAULT: control }, (one) => found.push(one as Failed));
  return found;
}

async function end(
  args: string[],
  env: NodeJS.ProcessEnv,
  onMessage: (message: unknown) => void = () => undefined,
): Promise<void> {
  const child = fork(CHILD, args, {
    stdio: "inherit",
    env: { ...process.env, LD_PRELOAD: shim(), ...env },
  });
  child.on("message", onMessage);
  expect(await once(child, "close")).toEqual([0, null]);
}

/** The file through which changes are made to fail; none fails yet. */
export function faultFile(): string {
  const file = path.join(tempFolder(), "fault");
  writeFileSync(file, Buffer.alloc(16));
  return file;
}

/** Has every change fail from now on, or none. */
export function fail(file: string, error?: keyof typeof os.constants.errno): void {
  const bytes = Buffer.alloc(16);
  if (error !== undefined) bytes.writeBigInt64LE(BigInt(os.constants.errno[error]));
  // In place: it is mapped into memory.
  writeFileSync(file, bytes, { flag: "r+" });
}

/** Every so many changes are made to fail, or are looked at; `npm run soak` takes each. */
export const STEP = sized("FAULT_STEP", 10);

// Where what was done is decided.
const ALL_OF_LAST = 12;

/** Some of these places in their order, and all of the last. */
export function sampled(places: readonly string[]): string[] {
  return places.filter((_, index) => index % STEP === 0 || index >= places.length - ALL_OF_LAST);
}

/** One of each: folders in which all is the same but what files named like `drafts` hold. */
export function distinct(folders: readonly string[], drafts: RegExp): string[] {
  const found = new Map<string, string>();
  for (const folder of folders) {
    const hash = createHash("sha256");
    const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted();
    for (const name of names) {
      const file = path.join(folder, name);
      const isRead = statSync(file).isFile() && !drafts.test(name);
      hash.update(JSON.stringify([name, isRead ? readFileSync(file).toString("base64") : ""]));
    }
    const key = hash.digest("hex");
    if (!found.has(key)) found.set(key, folder);
  }
  return [...found.values()];
}

/** A folder by that name, gone when the test ends; what is done in it needs no disk, whose syncs take their time. */
export function makeFolder(name: string): string {
  const memory = existsSync("/dev/shm") ? "/dev/shm" : os.tmpdir();
  const parent = realpathSync(mkdtempSync(path.join(memory, "pw-")));
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }));
  const folder = path.join(parent, name);
  mkdirSync(folder);
  return folder;
}
