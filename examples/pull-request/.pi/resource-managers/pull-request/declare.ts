import type { PullRequestSpecInput } from "./spec.ts";
import { initialStatus } from "./status.ts";

/**
 * For `defineResource` in spec files: fields that have a default may be left out there, and are
 * filled in where the file is loaded.
 */
export const pullRequest = {
  name: "pull-request",
  initialStatus: (_spec: PullRequestSpecInput) => initialStatus(),
};
