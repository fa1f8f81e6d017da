import { rm } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import type { PullRequestSpec } from "./spec.ts";

/** Held while there may be a workspace: its removal is the clean-up. */
export const FINALIZER = "pull-request/workspace";

/**
 * The folder of one resource in which its workflows check heads out: a bare repository and a
 * worktree for each run. `PULL_REQUEST_WORKSPACES` names another place for all of them.
 */
export function workspaceOf(env: NodeJS.ProcessEnv, uid: string): string {
  const home = env.PI_WORKFLOWS_HOME ?? path.join(homedir(), ".pi/agent/workflows");
  return path.join(env.PULL_REQUEST_WORKSPACES ?? path.join(home, "workspaces"), uid);
}

/** Removes it with everything in it; one that is not there is removed already. */
export async function removeWorkspace(env: NodeJS.ProcessEnv, uid: string): Promise<void> {
  await rm(workspaceOf(env, uid), { recursive: true, force: true, maxRetries: 3 });
}

/** What git fetches from: what the spec says, or the repository at its server. */
export function remoteOf({ checkout, apiUrl, repository }: PullRequestSpec): string {
  if (checkout?.remote !== undefined) return checkout.remote;
  const server = apiUrl.replace(/^https:\/\/api\.github\.com$/, "https://github.com");
  return `${server.replace(/\/api\/v3$/, "")}/${repository}.git`;
}
