import { GitHubClient } from "./github-client.ts";
import { tokenFor } from "./token.ts";

/** What a pass may be told besides its spec; tests make everything faster. */
export type Settings = {
  /** The longest wait between two looks, milliseconds; never shortens a wait that GitHub asked for. */
  pollMs: number;
  /** How long after a write its absence proves nothing, milliseconds. */
  settleMs: number;
  connect(apiUrl: string): Promise<GitHubClient>;
};

/** GitHub carries out a merge within its own time limit of 10 s, and shows it soon after. */
const SETTLE_MS = 30_000;
/** GitHub asks for a second between writes. Source: REST docs, "Best practices". */
const WRITE_SPACING_MS = 1_000;

/**
 * From the environment of the server: `PULL_REQUEST_POLL_MS`, `PULL_REQUEST_SETTLE_MS` and
 * `PULL_REQUEST_WRITE_SPACING_MS`, see the README.
 */
export function settingsFrom(env: NodeJS.ProcessEnv, now: () => number): Settings {
  return {
    pollMs: numberFrom(env.PULL_REQUEST_POLL_MS, Number.POSITIVE_INFINITY),
    settleMs: numberFrom(env.PULL_REQUEST_SETTLE_MS, SETTLE_MS),
    connect: async (apiUrl) =>
      new GitHubClient({
        apiUrl,
        token: await tokenFor(apiUrl, env),
        writeSpacingMs: numberFrom(env.PULL_REQUEST_WRITE_SPACING_MS, WRITE_SPACING_MS),
        timeoutMs: 15_000,
        retryMs: 500,
        now,
      }),
  };
}

function numberFrom(text: string | undefined, otherwise: number): number {
  const value = Number(text ?? Number.NaN);
  return Number.isFinite(value) && value >= 0 ? value : otherwise;
}
