import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { tokenFor } from "../../resource-managers/pull-request/token.ts";

const run = promisify(execFile);

/** What is fetched is somebody else's: none of it may run here, and no link in it is followed. */
const CAUTION = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.symlinks=false",
  "protocol.ext.allow=never",
];
const MOST_OUTPUT = 64 * 1024 * 1024;
const KEPT_ERROR = 2_000;

/** Runs git in `folder`, without the user's and the system's settings. @throws Error with its words */
export async function git(
  folder: string,
  words: string[],
  { signal, env = {} }: { signal: AbortSignal; env?: Record<string, string> },
): Promise<string> {
  const options = CAUTION.flatMap((setting) => ["-c", setting]);
  try {
    const { stdout } = await run("git", ["-C", folder, ...options, ...words], {
      signal,
      maxBuffer: MOST_OUTPUT,
      env: { ...plainEnvironment(), ...env },
    });
    return stdout;
  } catch (error) {
    const said = (error as { stderr?: string }).stderr?.trim() || String(error);
    throw new Error(`git ${words[0] ?? ""}: ${said.slice(-KEPT_ERROR)}`, { cause: error });
  }
}

function plainEnvironment(): Record<string, string> {
  const kept = ["PATH", "HOME", "LANG", "TMPDIR", "SSH_AUTH_SOCK"] as const;
  const passed = kept.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    ...Object.fromEntries(passed),
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_TERMINAL_PROMPT: "0",
  };
}

/**
 * The login for fetching from `remote`, by the environment: arguments are for everyone to read. The
 * token goes to the server of `apiUrl` and to no other.
 */
export async function loginFor(remote: string, apiUrl: string): Promise<Record<string, string>> {
  if (!remote.startsWith("https://")) return {};
  const { hostname } = new URL(apiUrl);
  if (new URL(remote).hostname !== hostname.replace(/^api\.github\.com$/, "github.com")) return {};
  const token = await tokenFor(apiUrl, process.env);
  const basic = Buffer.from(`x-access-token:${token}`).toString("base64");
  return {
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: `http.https://${new URL(remote).host}/.extraheader`,
    GIT_CONFIG_VALUE_0: `Authorization: Basic ${basic}`,
  };
}
