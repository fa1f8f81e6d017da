import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { classify } from "../../examples/pull-request/.pi/resource-managers/pull-request/fault.ts";
import { Limiter } from "../../examples/pull-request/.pi/resource-managers/pull-request/limiter.ts";
import { parseRefusal } from "../../examples/pull-request/.pi/resource-managers/pull-request/merge.ts";
import {
  carriesIntent,
  intentId,
  mergeMessage,
} from "../../examples/pull-request/.pi/resource-managers/pull-request/message.ts";
import type { Pull } from "../../examples/pull-request/.pi/resource-managers/pull-request/observation.ts";
import { settingsFrom } from "../../examples/pull-request/.pi/resource-managers/pull-request/settings.ts";
import { pullRequestSpec } from "../../examples/pull-request/.pi/resource-managers/pull-request/spec.ts";
import { tokenFor } from "../../examples/pull-request/.pi/resource-managers/pull-request/token.ts";

describe("the token", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), "pi-workflows-gh-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** A `gh` that writes down how it was called, and prints a token for `HOST`. */
  function gh(host: string, token = "gho_of_gh") {
    const script = `#!/bin/sh\necho "$@" >> "${folder}/calls"\n[ "$4" = "${host}" ] && echo "${token}"\n`;
    writeFileSync(path.join(folder, "gh"), script);
    chmodSync(path.join(folder, "gh"), 0o755);
    return { PATH: `${folder}:/usr/bin:/bin` };
  }

  it("GITHUB_TOKEN goes to github.com, and to no other server that a spec may name", async () => {
    const env = { ...gh("ghe.example.com"), GITHUB_TOKEN: "secret" };
    expect(await tokenFor("https://api.github.com", env)).toBe("secret");
    expect(await tokenFor("https://ghe.example.com/api/v3", env)).toBe("gho_of_gh");
    await expect(tokenFor("https://evil.example.com/api/v3", env)).rejects.toMatchObject({
      kind: "no-access",
    });
    expect(await tokenFor("http://127.0.0.1:1234", env)).toBe("loopback");
  });

  it("GITHUB_TOKEN goes to the server that GITHUB_API_URL says it was issued for", async () => {
    const GITHUB_API_URL = "https://ghe.example.com/api/v3";
    const env = { ...gh("github.com"), GITHUB_TOKEN: "secret", GITHUB_API_URL };
    expect(await tokenFor(GITHUB_API_URL, env)).toBe("secret");
    expect(await tokenFor("https://api.github.com", env)).toBe("gho_of_gh");
  });

  it("gh is asked by arguments that hold no secret", async () => {
    await tokenFor("https://api.github.com", gh("github.com"));
    expect(readFileSync(path.join(folder, "calls"), "utf8")).toBe(
      "auth token --hostname github.com\n",
    );
  });

  it("without any, what to do is said", async () => {
    const missing = tokenFor("https://api.github.com", { PATH: folder });
    await expect(missing).rejects.toThrow(/set GITHUB_TOKEN .* or run "gh auth login"/);
  });

  it("is sent over https only, loopback aside", async () => {
    const env = { GITHUB_TOKEN: "secret", GITHUB_API_URL: "http://ghe.example.com" };
    await expect(tokenFor("http://ghe.example.com", env)).rejects.toThrow(/https only/);
  });
});

describe("what an error status means", () => {
  const NOW = 1_000_000;
  const means = (status: number, headers: Record<string, string> = {}, message = "") =>
    classify("GET x", { status, headers, message }, NOW);

  it.each([
    [401, "no-access"],
    [403, "no-access"],
    [404, "no-access"],
    [405, "refused"],
    [409, "refused"],
    [422, "refused"],
    [429, "limited"],
    [500, "unreadable"],
    [502, "unreadable"],
    [503, "unreadable"],
  ])("%i is %s", (status, kind) => {
    expect(means(status).kind).toBe(kind);
  });

  it("403 is a limit where its headers or its words say so", () => {
    expect(means(403, { "retry-after": "7" })).toMatchObject({ kind: "limited", waitMs: 7_000 });
    const reset = { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1300" };
    expect(means(403, reset)).toMatchObject({ kind: "limited", waitMs: 300_000 });
    const words = "You have exceeded a secondary rate limit";
    expect(means(403, {}, words)).toMatchObject({ kind: "limited", waitMs: 60_000 });
  });

  it("a refusal survives the ledger, whatever its words", () => {
    expect(parseRefusal("limited(9000): PUT x: GitHub answers 429: slow\ndown")).toEqual({
      kind: "limited",
      waitMs: 9_000,
      message: "PUT x: GitHub answers 429: slow\ndown",
    });
    expect(parseRefusal("set by hand")).toEqual({ kind: "refused", message: "set by hand" });
  });
});

describe("the limiter", () => {
  it("lets one write out at a time, in order, also after one that failed", async () => {
    const limiter = new Limiter();
    const events: string[] = [];
    const { signal } = new AbortController();
    const write = (name: string) => async () => {
      events.push(`${name} begins`);
      await Promise.resolve();
      events.push(`${name} ends`);
      if (name === "a") throw new Error("a failed");
    };
    const all = ["a", "b", "c"].map((name) => limiter.inTurn(write(name), 1, signal));
    const [first] = await Promise.allSettled(all);
    expect(first?.status).toBe("rejected");
    expect(events).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
  });

  it("does not send a write that was called off while it waited", async () => {
    const limiter = new Limiter();
    const controller = new AbortController();
    await limiter.inTurn(() => Promise.resolve(), 60_000, controller.signal);
    const waiting = limiter.inTurn(
      () => Promise.reject(new Error("was sent")),
      0,
      controller.signal,
    );
    controller.abort(new Error("called off"));
    await expect(waiting).rejects.toThrow("called off");
  });
});

describe("merge messages", () => {
  const pull = {
    number: 42,
    title: "Add\nwidgets",
    body: "{{title}} stays\n",
    author: "alice",
    headRef: "add-widgets",
    headSha: "a".repeat(40),
    baseRef: "main",
  } as Pull;
  const id = intentId("uid", pull.headSha);

  it("have the defaults of GitHub, a title of one line, and the trailer at the end", () => {
    expect(mergeMessage(pull, { method: "squash" }, id)).toEqual({
      commit_title: "Add widgets (#42)",
      commit_message: `{{title}} stays\n\nMerge-Intent: ${id}`,
    });
    expect(mergeMessage({ ...pull, body: "" }, { method: "squash" }, id).commit_message).toBe(
      `Merge-Intent: ${id}`,
    );
    expect(mergeMessage(pull, { method: "merge" }, id).commit_title).toBe(
      "Merge pull request #42 from add-widgets",
    );
    expect(mergeMessage(pull, { method: "rebase" }, id)).toEqual({});
  });

  it("replace placeholders once, and not those of the pull request's own text", () => {
    const title = "{{number}} {{author}} {{headRef}} {{baseRef}}";
    const made = mergeMessage(pull, { method: "squash", title, body: "{{body}}" }, id);
    expect(made.commit_title).toBe("42 alice add-widgets main");
    expect(made.commit_message).toContain("{{title}} stays");
  });

  it("an intent is of one resource and one head, and is found on a line of its own only", () => {
    expect(intentId("uid", "b".repeat(40))).not.toBe(id);
    expect(intentId("other", pull.headSha)).not.toBe(id);
    expect(carriesIntent(`x\n\nMerge-Intent: ${id}\nCo-authored-by: y`, id)).toBe(true);
    expect(carriesIntent(`quoted: Merge-Intent: ${id}`, id)).toBe(false);
  });
});

describe("the spec", () => {
  const least = { repository: "acme/widgets", number: 42, baseRef: "main" };

  it("needs three fields; the rest has safe defaults", () => {
    expect(pullRequestSpec.parse(least)).toMatchObject({
      merge: { method: "squash", deleteBranch: false },
      require: {
        approvals: { count: 0, fromWriters: true, onHead: true, codeOwners: false },
        checks: { alsoProviderRequired: true, allowNoChecks: false },
        notDraft: true,
      },
      update: { mode: "never" },
      report: "none",
      dryRun: false,
      apiUrl: "https://api.github.com",
    });
  });

  it.each([
    ["repository", { repository: "widgets" }],
    ["number", { number: 0 }],
    ["expectedHeadSha", { expectedHeadSha: "abc1234" }],
    ["merge.title", { merge: { title: "{{tilte}}" } }],
    ["merge.method", { merge: { method: "fast-forward" } }],
    ["require.checks.deadline", { require: { checks: { deadline: "10 minutes" } } }],
    ["freeze.windows.0.from", { freeze: { windows: [{ from: "6pm", to: "08:00" }] } }],
    ["apiUrl", { apiUrl: "https://ghe.example.com/api/v3/" }],
    ["", { mend: true }],
    ["repair", { repair: true }],
    ["repair.test", { repair: { test: [] } }],
  ])("refuses a wrong %s", (field, changes) => {
    const parsed = pullRequestSpec.safeParse({ ...least, ...changes });
    expect(parsed.error?.issues[0]?.path.join(".")).toBe(field);
  });

  it("can be written as JSON Schema, for editors", () => {
    const json = z.toJSONSchema(pullRequestSpec, { io: "input" });
    expect(json.required).toEqual(["repository", "number", "baseRef"]);
  });
});

describe("GitHub Enterprise Server", () => {
  it("is called below /api/v3, its GraphQL at /api/graphql", async () => {
    const paths: string[] = [];
    const server = createServer((request, response) => {
      paths.push(request.url ?? "");
      response.writeHead(404, { "content-type": "application/json" });
      response.end(JSON.stringify({ message: "Not Found" }));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const settings = settingsFrom({}, Date.now);
    const client = await settings.connect(`http://127.0.0.1:${port}/api/v3`);
    const { signal } = new AbortController();
    await expect(client.read("GET /user", {}, z.object({}), signal)).rejects.toThrow(/404/);
    await expect(
      client.graphql("query { viewer { login } }", {}, z.object({}), signal),
    ).rejects.toThrow(/404/);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    expect(paths).toEqual(["/api/v3/user", "/api/graphql"]);
  });
});

describe("settings", () => {
  it("come from the environment, and fall back where it makes no sense", () => {
    const env = { PULL_REQUEST_POLL_MS: "500", PULL_REQUEST_SETTLE_MS: "soon" };
    expect(settingsFrom(env, Date.now)).toMatchObject({ pollMs: 500, settleMs: 30_000 });
    expect(settingsFrom({}, Date.now).pollMs).toBe(Number.POSITIVE_INFINITY);
  });
});
