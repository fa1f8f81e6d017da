import { describe, expect, it } from "vitest";
import type { Log } from "../../src/model/ports.ts";
import { createReleasers } from "../../src/server/releasers.ts";

function makeLog(): { log: Log; lines: string[] } {
  const lines: string[] = [];
  const line = (message: string, fields?: Record<string, unknown>): void =>
    void lines.push(`${message}: ${String(fields?.["what"])}`);
  return { log: { debug: line, info: line, warn: line, error: line }, lines };
}

describe("releasing", () => {
  it("P-3: what never ends is named and left behind, and what was acquired before it is released", async () => {
    const { log, lines } = makeLog();
    const releasers = createReleasers();
    const released: string[] = [];
    releasers.add("lock", () => void released.push("lock"));
    releasers.add("store", async () => {
      await Promise.resolve();
      released.push("store");
    });
    releasers.add("stuck", () => new Promise(() => {}));
    releasers.add("requests", () => void released.push("requests"));
    await releasers.releaseAll(log, 20);
    expect(released).toEqual(["requests", "store", "lock"]);
    expect(lines).toEqual(["Something did not end in time and is left behind: stuck"]);
  });

  it("one that throws keeps no other from its release", async () => {
    const { log, lines } = makeLog();
    const releasers = createReleasers();
    const released: string[] = [];
    releasers.add("lock", () => void released.push("lock"));
    releasers.add("broken", () => Promise.reject(new Error("no")));
    await releasers.releaseAll(log, 1_000);
    expect(released).toEqual(["lock"]);
    expect(lines).toEqual(["Something could not be released: broken"]);
  });
});
