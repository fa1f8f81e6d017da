import type { ManagedResource, ReconcileContext } from "@osolmaz/pi-workflows/resource-managers";
import type { GitHubClient } from "./github-client.ts";
import type { Settings } from "./settings.ts";
import type { PullRequestSpec } from "./spec.ts";
import type { PullRequestStatus } from "./status.ts";

/** Everything that the steps of one pass work with. */
export type Pass = {
  ctx: ReconcileContext<PullRequestStatus>;
  resource: ManagedResource<PullRequestSpec, PullRequestStatus>;
  spec: PullRequestSpec;
  /** As the last pass left it; steps return what it becomes. */
  status: PullRequestStatus;
  client: GitHubClient;
  settings: Settings;
};

/** True where an effect was refused, now or before; its message says why. */
export function isRefused(error: unknown): error is Error {
  // The runtime may throw its own copy of the class.
  return error instanceof Error && error.name === "EffectRejected";
}
