import type { WebhookRequest } from "@osolmaz/pi-workflows/resource-managers";
import { z } from "zod";

const number = z.object({ number: z.number().int().positive() });
/** The pull requests of a check, where GitHub names them: not for those from forks. */
const checked = z.object({
  pull_requests: z
    .array(number.extend({ base: z.object({ repo: z.object({ id: z.number() }) }) }))
    .default([]),
});

/** What is read of a payload; everything else is passed over. */
const payloadSchema = z.object({
  repository: z.object({ id: z.number(), full_name: z.string().min(1) }).optional(),
  pull_request: number.optional(),
  issue: number.extend({ pull_request: z.unknown().optional() }).optional(),
  check_run: checked.optional(),
  check_suite: checked.optional(),
});
type Payload = z.infer<typeof payloadSchema>;

/**
 * Verifies that GitHub sent a request, and says which pull requests to look at: keys are
 * `OWNER/NAME#NUMBER`, and `OWNER/NAME#*` where an event may be about any of a repository.
 * @throws where the signature is missing or wrong, or GITHUB_WEBHOOK_SECRET is not set
 */
export async function keysOfGitHubEvent({ headers, body, env }: WebhookRequest): Promise<string[]> {
  const secret = env["GITHUB_WEBHOOK_SECRET"];
  if (!secret) throw new Error("GITHUB_WEBHOOK_SECRET is not set where the server runs");
  // Not above: only few runners are asked.
  const { Webhooks } = await import("@octokit/webhooks");
  const signature = headers["x-hub-signature-256"] ?? "";
  const isGenuine = signature !== "" && (await new Webhooks({ secret }).verify(body, signature));
  if (!isGenuine) throw new Error("the signature is not that of GITHUB_WEBHOOK_SECRET");
  const payload = payloadSchema.parse(JSON.parse(payloadOf(headers, body)));
  return keysOf(headers["x-github-event"] ?? "", payload);
}

/** GitHub sends JSON, or a form that holds it, as the webhook's settings say. */
function payloadOf(headers: WebhookRequest["headers"], body: string): string {
  const isForm = headers["content-type"]?.startsWith("application/x-www-form-urlencoded") === true;
  return isForm ? (new URLSearchParams(body).get("payload") ?? "") : body;
}

function keysOf(event: string, payload: Payload): string[] {
  const { repository, issue } = payload;
  if (repository === undefined) return [];
  const keyOf = (pull: { number: number }): string => `${repository.full_name}#${pull.number}`;
  const all = `${repository.full_name}#*`;
  switch (event) {
    case "pull_request":
    case "pull_request_review":
    case "pull_request_review_comment":
    case "pull_request_review_thread":
      return payload.pull_request ? [keyOf(payload.pull_request)] : [];
    case "issue_comment":
      return issue?.pull_request === undefined ? [] : [keyOf(issue)];
    case "check_run":
    case "check_suite": {
      const { pull_requests: pulls = [] } = payload[event] ?? {};
      const own = pulls.filter(({ base }) => base.repo.id === repository.id);
      return own.length > 0 ? own.map(keyOf) : [all];
    }
    case "status":
    case "push":
    case "merge_group":
    case "branch_protection_rule":
    case "repository_ruleset":
      return [all];
    default:
      return [];
  }
}
