import { defineResourceManager, every, webhook } from "@osolmaz/pi-workflows/resource-managers";
import { reconcile } from "./pull-request/reconcile.ts";
import { settingsFrom } from "./pull-request/settings.ts";
import { pullRequestSpec, type PullRequestSpec } from "./pull-request/spec.ts";
import { keysOfGitHubEvent } from "./pull-request/webhook.ts";
import { initialStatus, type PullRequestStatus } from "./pull-request/status.ts";

/** Merges pull requests when everything that their specs ask for is true. */
export default defineResourceManager<PullRequestSpec, PullRequestStatus>({
  name: "pull-request",
  spec: pullRequestSpec,
  initialStatus,
  // A lost delivery costs a minute at most.
  sources: [every("1m"), webhook("github", keysOfGitHubEvent)],
  maxConcurrent: 4,
  // Some twenty calls of GitHub, each with its own time limit.
  deadlineMs: 180_000,
  reconcile: (ctx, resource) =>
    reconcile(
      ctx,
      resource,
      settingsFrom(process.env, () => ctx.now()),
    ),
});
