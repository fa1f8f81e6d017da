import { execFile } from "node:child_process";
import { realpathSync } from "node:fs";
import { promisify } from "node:util";
import { PiWorkflowsError } from "../../model/errors.ts";

const run = promisify(execFile);

/** A git repository as sync sees it. Paths are canonical. */
export type Repository = {
  /** Shared by every work tree: what identifies the project's history. */
  commonDir: string;
  /** This work tree's own folder: `HEAD`, the index, what is under way. */
  gitDir: string;
  workTree: string;
};

/**
 * What git may do for us: read objects. No prompts, no lazy fetches over the network, no refreshing
 * of the index beside the user's own commands, and no settings from the caller's environment that
 * point at another repository.
 */
export function gitEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !name.startsWith("GIT_") || name === "GIT_CONFIG_GLOBAL",
  );
  return {
    ...Object.fromEntries(kept),
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
    GIT_NO_LAZY_FETCH: "1",
    LC_ALL: "C",
  };
}

/** Settings by which a repository has git start programs of its own where it is only looked at. */
const NO_PROGRAMS = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];

/**
 * Runs git and gives its standard output.
 * @throws PiWorkflowsError GIT_FAILED with what git said
 */
export async function git(folder: string, args: string[]): Promise<string> {
  try {
    const { stdout } = await run(
      "git",
      ["--no-replace-objects", ...NO_PROGRAMS, "-C", folder, ...args],
      {
        env: gitEnvironment(),
        maxBuffer: 256 * 1024 * 1024,
        timeout: 60_000,
      },
    );
    return stdout;
  } catch (error) {
    const { stderr, code } = error as { stderr?: string; code?: string | number };
    const said = stderr?.trim().split("\n")[0] ?? String(error);
    throw new PiWorkflowsError(
      "GIT_FAILED",
      code === "ENOENT" ? "git is not installed" : `git ${args[0]} in ${folder}: ${said}`,
      { cause: error },
    );
  }
}

/** The repository around `folder`; undefined where there is none. */
export async function findRepository(folder: string): Promise<Repository | undefined> {
  const shown = await git(folder, [
    "rev-parse",
    "--path-format=absolute",
    "--git-common-dir",
    "--git-dir",
    "--show-toplevel",
  ]).catch((error: PiWorkflowsError) => {
    if (/not a git repository|must be run in a work tree/.test(error.message)) return undefined;
    throw error;
  });
  const [commonDir, gitDir, workTree] = shown?.trimEnd().split("\n") ?? [];
  if (!commonDir || !gitDir || !workTree) return undefined;
  return {
    commonDir: realpathSync(commonDir),
    gitDir: realpathSync(gitDir),
    workTree: realpathSync(workTree),
  };
}
