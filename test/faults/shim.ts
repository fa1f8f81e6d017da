import { spawnSync } from "node:child_process";
import { mkdirSync, renameSync, statSync } from "node:fs";
import path from "node:path";

const SOURCE = path.resolve(import.meta.dirname, "shim.c");

/**
 * The library that makes a machine with faults of the process it is preloaded into; see shim.c.
 * Compiled where it is missing or older than its source. A machine without a compiler can't run
 * these tests, which is a failure, not a reason to pass.
 */
export function shim(): string {
  const library = path.resolve(".test-results/shim.so");
  const builtAt = statSync(library, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (builtAt > statSync(SOURCE).mtimeMs) return library;
  mkdirSync(path.dirname(library), { recursive: true });
  // Test processes may do this at once, and one may have it loaded already.
  const made = `${library}.${process.pid}`;
  const compilers = ["cc", "gcc", "clang", "g++"];
  for (const compiler of compilers) {
    const args = [...(compiler === "g++" ? ["-xc"] : []), "-shared", "-fPIC", "-O2", "-o", made];
    const { status, stderr } = spawnSync(compiler, [...args, SOURCE, "-ldl"], { encoding: "utf8" });
    if (status === 0) {
      renameSync(made, library);
      return library;
    }
    if (status !== null) throw new Error(`${compiler} can't compile ${SOURCE}: ${stderr}`);
  }
  throw new Error(
    `No C compiler (${compilers.join(", ")}): install gcc to run the tests of faults`,
  );
}
