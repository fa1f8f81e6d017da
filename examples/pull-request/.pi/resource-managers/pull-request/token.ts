import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { GitHubFault } from "./fault.ts";

const run = promisify(execFile);
const PUBLIC_API = "https://api.github.com";

/**
 * The token for a server, from the environment or from `gh`; never from a spec. `GITHUB_TOKEN` goes
 * to the server that it was issued for (`GITHUB_API_URL`, else github.com) and to no other, so that
 * a spec can't send it elsewhere. A stand-in on loopback takes any token and is given none of worth.
 * @throws GitHubFault `no-access` where there is none
 */
export async function tokenFor(apiUrl: string, env: NodeJS.ProcessEnv): Promise<string> {
  const { protocol, hostname } = new URL(apiUrl);
  const loopback = ["127.0.0.1", "localhost", "[::1]"].includes(hostname);
  if (protocol !== "https:" && !loopback) {
    throw new GitHubFault("no-access", `${apiUrl}: a token is sent over https only`);
  }
  const issuedFor = env.GITHUB_API_URL ?? PUBLIC_API;
  if (env.GITHUB_TOKEN && apiUrl === issuedFor) return env.GITHUB_TOKEN;
  if (loopback) return "loopback";
  return tokenOfGh(apiUrl === PUBLIC_API ? "github.com" : hostname, env);
}

async function tokenOfGh(host: string, env: NodeJS.ProcessEnv): Promise<string> {
  try {
    const { stdout } = await run("gh", ["auth", "token", "--hostname", host], {
      env,
      timeout: 10_000,
    });
    const token = stdout.trim();
    if (token !== "") return token;
  } catch {
    // `gh` is not installed or not logged in: said below, without its output.
  }
  throw new GitHubFault(
    "no-access",
    `no token for ${host}: set GITHUB_TOKEN where the server is started, or run "gh auth login"`,
  );
}
