import imported from "@octokit/webhooks-examples";
import { Webhooks } from "@octokit/webhooks";
import { describe, expect, it } from "vitest";
import { keysOfGitHubEvent } from "../../examples/pull-request/.pi/resource-managers/pull-request/webhook.ts";

// Its types describe a module of ES, and it is one of CommonJS.
const examples = imported as unknown as { name: string; examples: Record<string, unknown>[] }[];

const SECRET = "it-is-a-secret";
const env = { GITHUB_WEBHOOK_SECRET: SECRET };

/** A delivery of GitHub, as it sends it. */
async function delivery(event: string, payload: unknown) {
  const body = typeof payload === "string" ? payload : JSON.stringify(payload);
  const signature = await new Webhooks({ secret: SECRET }).sign(body);
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "x-github-event": event,
    "x-hub-signature-256": signature,
  };
  return { headers, body, env };
}

const keysOf = async (event: string, payload: unknown) =>
  keysOfGitHubEvent(await delivery(event, payload));

/** GitHub's own examples of an event. */
function examplesOf(event: string): Record<string, unknown>[] {
  const found = examples.find(({ name }) => name === event);
  if (!found) throw new Error(`there are no examples of ${event}`);
  return found.examples;
}

describe("the events of GitHub", () => {
  it.each([
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_review_thread",
  ])("%s is about its pull request", async (event) => {
    for (const payload of examplesOf(event)) {
      const { repository, pull_request: pull } = payload as {
        repository: { full_name: string };
        pull_request: { number: number };
      };
      expect(await keysOf(event, payload)).toEqual([`${repository.full_name}#${pull.number}`]);
    }
  });

  it.each(["check_run", "check_suite"])(
    "%s is about the pull requests that it names, or else about all of its repository",
    async (event) => {
      const all = await Promise.all(examplesOf(event).map((payload) => keysOf(event, payload)));
      expect(all.flat()).toContain("Codertocat/Hello-World#2");
      for (const keys of all) {
        for (const key of keys) expect(key).toMatch(/^[\w.-]+\/[\w.-]+#(\d+|\*)$/);
        expect(keys.length).toBeGreaterThan(0);
      }
      const repository = { id: 1, full_name: "a/b" };
      const elsewhere = [{ number: 3, base: { repo: { id: 2 } } }];
      expect(await keysOf(event, { repository, [event]: { pull_requests: elsewhere } })).toEqual([
        "a/b#*",
      ]);
      expect(await keysOf(event, { repository, [event]: { pull_requests: [] } })).toEqual([
        "a/b#*",
      ]);
    },
  );

  it.each(["status", "push", "merge_group"])(
    "%s may be about any pull request of its repository",
    async (event) => {
      for (const payload of examplesOf(event)) {
        const { repository } = payload as { repository: { full_name: string } };
        expect(await keysOf(event, payload)).toEqual([`${repository.full_name}#*`]);
      }
    },
  );

  it("issue_comment is about a pull request, or about nothing here", async () => {
    for (const payload of examplesOf("issue_comment")) {
      const { issue, repository } = payload as {
        issue: { number: number; pull_request?: object };
        repository: { full_name: string };
      };
      const key = `${repository.full_name}#${issue.number}`;
      expect(await keysOf("issue_comment", payload)).toEqual(issue.pull_request ? [key] : []);
      const asPull = { ...payload, issue: { ...issue, pull_request: {} } };
      expect(await keysOf("issue_comment", asPull)).toEqual([key]);
    }
  });

  it("every example that GitHub has is read, and none but these wakes anything", async () => {
    const woken = new Set<string>();
    for (const { name, examples: payloads } of examples) {
      for (const payload of payloads) if ((await keysOf(name, payload)).length > 0) woken.add(name);
    }
    expect([...woken].sort()).toEqual([
      "branch_protection_rule",
      "check_run",
      "check_suite",
      "merge_group",
      "pull_request",
      "pull_request_review",
      "pull_request_review_comment",
      "pull_request_review_thread",
      "push",
      "status",
    ]);
  });

  it("may come as a form", async () => {
    const [payload] = examplesOf("pull_request");
    const sent = await delivery(
      "pull_request",
      `payload=${encodeURIComponent(JSON.stringify(payload))}`,
    );
    sent.headers["content-type"] = "application/x-www-form-urlencoded";
    expect(await keysOfGitHubEvent(sent)).toHaveLength(1);
  });
});

describe("a request that GitHub did not send", () => {
  const payload = { repository: { id: 1, full_name: "a/b" }, pull_request: { number: 1 } };

  it.each<[string, (sent: Awaited<ReturnType<typeof delivery>>) => unknown, RegExp]>([
    ["has no signature", (sent) => delete sent.headers["x-hub-signature-256"], /signature/],
    ["has another's", (sent) => (sent.headers["x-hub-signature-256"] = "sha256=00"), /signature/],
    ["has what is none", (sent) => (sent.headers["x-hub-signature-256"] = "é"), /signature/],
    ["has a changed body", (sent) => (sent.body += " "), /signature/],
    ["comes to a server without a secret", (sent) => (sent.env = {} as typeof env), /not set/],
    [
      "comes to a server with an empty one",
      (sent) => (sent.env = { GITHUB_WEBHOOK_SECRET: "" }),
      /not set/,
    ],
  ])("%s: refused, and the secret is not in the reason", async (_what, spoil, reason) => {
    const sent = await delivery("pull_request", payload);
    spoil(sent);
    const thrown = await keysOfGitHubEvent(sent).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(Error);
    expect((thrown as Error).message).toMatch(reason);
    expect(String((thrown as Error).stack)).not.toContain(SECRET);
  });

  it("is refused where its body is no JSON, or has not the form of an event", async () => {
    await expect(keysOf("pull_request", "no json")).rejects.toThrow(/JSON/);
    await expect(keysOf("pull_request", { repository: { full_name: 3 } })).rejects.toThrow(
      /number/,
    );
  });
});
