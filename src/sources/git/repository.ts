import { execFile } from "node:child_process";
import { realpathSync } from "node:fs";
import { promisify } from "node:util";
import { plainEnvironment } from "../../model/environment.ts";
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
 * What git may do for us: read objects. No prompts, no fetches (also where an older git knows no
 * `GIT_NO_LAZY_FETCH`: a repository's own settings say what a fetch runs), no refreshing of the index
 * beside the user's own commands, no settings from the caller's environment that point at another
 * repository, and no credentials, since whatever a repository has git start would inherit them.
 */
export function gitEnvironment(): Record<string, string> {
  return {
    ...plainEnvironment(process.env, /^(?:GIT_CONFIG_GLOBAL|GIT_CONFIG_NOSYSTEM)$/),
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "none",
    LC_ALL: "C",
  };
}

/** Settings by which a repository has git start programs of its own where it is only looked at. */
const NO_PROGRAMS = [
  "core.fsmonitor=false",
  "core.hooksPath=/dev/null",
  "log.showSignature=false",
  // Files of a commit may look like a repository, with settings.
  "safe.bareRepository=explicit",
].flatMap((setting) => ["-c", setting]);

/** Where git works: in a folder, or on a repository whatever lies around it. */
export type GitPlace = string | Pick<Repository, "gitDir">;

/**
 * Runs git and gives its standard output. `settings` win over those of the repository.
 * @throws PiWorkflowsError GIT_FAILED with what git said
 */
export async function git(
  place: GitPlace,
  args: string[],
  settings: Readonly<Record<string, string>> = {},
): Promise<string> {
  const [folder, at] =
    typeof place === "string"
      ? [place, ["-C", place]]
      : // From a folder of its own: where there is a working tree, git takes names as below it.
        [place.gitDir, ["-C", place.gitDir, `--git-dir=${place.gitDir}`]];
  try {
    const { stdout } = await run("git", ["--no-replace-objects", ...NO_PROGRAMS, ...at, ...args], {
      env: { ...gitEnvironment(), ...settingsIn(settings) },
      maxBuffer: 256 * 1024 * 1024,
      timeout: 60_000,
    });
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

/** By the environment, since a name with a `=` in it can't be told from its value after `-c`. */
function settingsIn(settings: Readonly<Record<string, string>>): Record<string, string> {
  const pairs = Object.entries(settings).flatMap(([name, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, name],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return { ...Object.fromEntries(pairs), GIT_CONFIG_COUNT: String(pairs.length / 2) };
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
