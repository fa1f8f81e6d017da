import { EffectRejected, type EffectRequest } from "@osolmaz/pi-workflows/resource-managers";
import { z } from "zod";
import { GitHubFault } from "./fault.ts";
import type { Pull } from "./observation.ts";
import { readPull } from "./observe.ts";
import type { Pass } from "./pass.ts";
import { UPDATE_BRANCH_MUTATION } from "./query.ts";
import { targetOf } from "./target.ts";

const accepted = z.object({ message: z.string() });
const rebased = z.object({
  updatePullRequestBranch: z.object({
    pullRequest: z.object({ headRefOid: z.string() }).nullable(),
  }),
});

/** Brings the base into one head, as an effect: GitHub refuses it where the head has moved. */
export function updateEffect(pass: Pass, pull: Pull): EffectRequest {
  const { spec, client, resource, settings } = pass;
  const { method } = spec.update;
  const target = targetOf(spec);
  return {
    key: `update:${resource.metadata.generation}:${pull.headSha}`,
    kind: "github-update-branch",
    request: { repository: spec.repository, number: spec.number, headSha: pull.headSha, method },
    consistencyWindowMs: settings.settleMs,
    observe: async (signal) => {
      const { headSha } = await readPull(client, target, signal);
      return headSha === pull.headSha
        ? { state: "absent" }
        : { state: "applied", externalRef: headSha };
    },
    apply: async (signal) => {
      try {
        if (method === "rebase") {
          const variables = { pull: pull.id, expectedHeadOid: pull.headSha };
          await client.graphql(UPDATE_BRANCH_MUTATION, variables, rebased, signal);
        } else {
          const { owner, repo, number } = target;
          const route = "PUT /repos/{owner}/{repo}/pulls/{number}/update-branch";
          const body = { owner, repo, number, expected_head_sha: pull.headSha };
          await client.write(route, body, accepted, signal);
        }
      } catch (error) {
        const certain = error instanceof GitHubFault && error.kind === "refused";
        throw certain ? new EffectRejected(error.message) : error;
      }
    },
  };
}
