import { EffectRejected, type EffectRequest } from "@osolmaz/pi-workflows/resource-managers";
import { z } from "zod";
import { GitHubFault } from "./fault.ts";
import type { Pull } from "./observation.ts";
import { unlessMissing } from "./observe.ts";
import type { Pass } from "./pass.ts";
import { targetOf } from "./target.ts";

const refAnswer = z.object({ object: z.object({ sha: z.string() }) });
const openPulls = z.array(z.object({ number: z.number() }));
const nothing = z.literal("").or(z.undefined());

/**
 * Deletes the branch of a merged pull request, as an effect. Never the branch of a fork; never one
 * that another open pull request is to be merged into, which would close that one; and never one
 * that has commits besides those that were merged.
 */
export function deleteBranchEffect(pass: Pass, pull: Pull): EffectRequest {
  const { spec, client, resource } = pass;
  const { owner, repo } = targetOf(spec);
  const place = { owner, repo, ref: `heads/${pull.headRef}` };
  const readTip = async (signal: AbortSignal) =>
    (
      await unlessMissing(
        client.read("GET /repos/{owner}/{repo}/git/ref/{ref}", place, refAnswer, signal),
      )
    )?.object.sha;
  return {
    key: `delete-branch:${resource.metadata.generation}:${pull.headSha}`,
    kind: "github-delete-branch",
    request: { repository: spec.repository, branch: pull.headRef, headSha: pull.headSha },
    observe: async (signal) =>
      (await readTip(signal)) === undefined ? { state: "applied" } : { state: "absent" },
    apply: async (signal) => {
      const tip = await readTip(signal);
      if (tip === undefined) return;
      const reason = await whyKept(pass, pull, tip, signal);
      if (reason !== undefined) throw new EffectRejected(`kept: ${reason}`);
      try {
        await client.write("DELETE /repos/{owner}/{repo}/git/refs/{ref}", place, nothing, signal);
      } catch (error) {
        if (!(error instanceof GitHubFault) || error.kind !== "refused") throw error;
        // 422: it is gone already.
        if (error.status !== 422) throw new EffectRejected(`kept: ${error.message}`);
      }
    },
  };
}

async function whyKept(
  { client, spec }: Pass,
  pull: Pull,
  tip: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { owner, repo } = targetOf(spec);
  if (pull.fork) return "it belongs to a fork";
  if (pull.headRef === pull.baseRef) return "it is the base";
  if (tip !== pull.headSha) return "it has commits that were not merged";
  const place = { owner, repo, base: pull.headRef, state: "open", per_page: 1 };
  const [other] = await client.read("GET /repos/{owner}/{repo}/pulls", place, openPulls, signal);
  return other && `pull request ${other.number} is to be merged into it`;
}
