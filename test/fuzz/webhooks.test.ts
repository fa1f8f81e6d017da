import { createHmac } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import path from "node:path";
import { setTimeout as after } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keysOfGitHubEvent } from "../../examples/pull-request/.pi/resource-managers/pull-request/webhook.ts";
import { defineResourceManager } from "../../src/resource-managers/define.ts";
import { webhook } from "../../src/resource-managers/sources.ts";
import { mapKeys } from "../../src/runner/map-keys.ts";
import { homeAt } from "../../src/server/home.ts";
import { host } from "../server/hosting.ts";
import { tempFolder } from "../server/temp.ts";
import { count } from "../support/figures.ts";
import { withVariables } from "./support/files.ts";
import { changed, expectUnpolluted, mangled, tries } from "./support/inputs.ts";

const SECRET = "a-very-secret-word-1234567890";
const env = { GITHUB_WEBHOOK_SECRET: SECRET };

const hooked = defineResourceManager<unknown, object>({
  name: "hooked",
  initialStatus: () => ({}),
  reconcile: (ctx) => ctx.settled(),
  sources: [webhook("github", keysOfGitHubEvent)],
});

const signed = (body: string): string =>
  `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`;

const repository = { id: 1, full_name: "acme/widgets" };
const checks = { pull_requests: [{ number: 3, base: { repo: { id: 1 } } }] };
const PAYLOADS: Record<string, unknown> = {
  pull_request: { repository, pull_request: { number: 2 } },
  issue_comment: { repository, issue: { number: 4, pull_request: {} } },
  check_run: { repository, check_run: checks },
  push: { repository, ref: "refs/heads/main" },
};
const payload = fc
  .constantFrom(...Object.keys(PAYLOADS))
  .chain((event) => changed([PAYLOADS[event]]).map((value) => ({ event, value })));

describe("what GitHub signed", () => {
  it("is about some keys, or is refused, whatever it holds", async () => {
    const { numRuns, ...how } = tries(1_000);
    const type = fc.constantFrom("application/json", "application/x-www-form-urlencoded", "");
    await fc.assert(
      fc.asyncProperty(payload, type, async ({ event, value }, contentType) => {
        const text = JSON.stringify(value) ?? "";
        const isForm = contentType.includes("form");
        const body = isForm ? new URLSearchParams({ payload: text }).toString() : text;
        const headers = {
          "x-hub-signature-256": signed(body),
          "x-github-event": event,
          "content-type": contentType,
        };
        const asked = { source: 0, input: { kind: "webhook", headers, body } } as const;
        const found = await mapKeys(hooked, asked, env);
        if (!["keys", "refused", "invalid"].includes(found.kind)) expect.unreachable(found.kind);
        expect(JSON.stringify(found)).not.toContain(SECRET);
      }),
      { numRuns, ...how },
    );
    count("inputs of webhooks", numRuns);
    expectUnpolluted();
  });
});

/** Sends bytes to the port; what came back until it was answered, or within so many milliseconds. */
async function exchange(port: number, bytes: Buffer, within = 20_000): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  const done = new Promise<void>((resolve) => {
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      if (text.endsWith("}\n")) resolve();
    });
    socket.on("close", () => resolve());
    socket.on("error", () => resolve());
  });
  socket.write(bytes);
  // A request that lacks its end is answered by nothing.
  await Promise.race([done, after(within, undefined, { ref: false })]);
  socket.destroy();
  return text;
}

describe("the port of webhooks", () => {
  it("takes what was signed as it came, and refuses all else", async () => {
    const home = path.join(tempFolder(), "home");
    mkdirSync(home, { mode: 0o700 });
    writeFileSync(path.join(home, "config.json"), '{ "webhooks": { "port": 0 } }');
    await withVariables(env, async () => {
      const { server } = await host({ home, managers: [hooked] });
      const port = (await server.client.status()).webhookPort as number;
      const request = (id: string, signature: string, body: string): string =>
        `POST /webhooks/github HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-GitHub-Event: push\r\n` +
        `X-GitHub-Delivery: ${id}\r\nX-Hub-Signature-256: ${signature}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
      const body = JSON.stringify(PAYLOADS["push"]);
      const good = request("first", signed(body), body);
      expect(await exchange(port, Buffer.from(good))).toContain('"taken"');
      // A signature of other bytes: whatever becomes of them, nothing is taken.
      const forged = request("other", signed(`${body} `), body);
      const chunked = good
        .replace(/Content-Length: \d+/, "Transfer-Encoding: chunked")
        .replace(body, `5\r\n${body.slice(0, 5)}\r\n0\r\n\r\n`);
      const texts = fc.constantFrom(good, forged, chunked, `GET${forged.slice(4)}`);
      const { numRuns, ...how } = tries(300);
      const before = process.memoryUsage.rss();
      await fc.assert(
        fc.asyncProperty(mangled(texts), async (bytes) => {
          const answer = await exchange(port, bytes, 30);
          if (answer.includes(SECRET) || answer.startsWith("HTTP/1.1 500")) {
            expect.unreachable(`${JSON.stringify(bytes.toString("latin1"))}: ${answer}`);
          }
          if (answer.includes('"taken"') && !bytes.includes(body)) {
            expect.unreachable(`taken: ${JSON.stringify(bytes.toString("latin1"))}`);
          }
        }),
        { numRuns, ...how },
      );
      count("inputs of webhooks", numRuns);
      const replayed = await exchange(port, Buffer.from(good));
      expect(replayed).toMatch(/"repeated"|HTTP\/1\.1 429/);
      expect((await server.client.status()).webhookPort).toBe(port);
      expect(process.memoryUsage.rss() - before).toBeLessThan(300 * 1024 * 1024);
    });
    expectUnpolluted();
    expect(readFileSync(homeAt(home).log, "utf8")).not.toContain(SECRET);
  });
});
