import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { getEventListeners } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { describeError } from "../../src/extension/errors.ts";
import { follow } from "../../src/extension/follow.ts";
import { Link } from "../../src/extension/link.ts";
import { createTrouble } from "../../src/extension/presence.ts";
import { PiWorkflowsError } from "../../src/model/errors.ts";

/** A link to what listens in a state folder of its own. */
async function linkTo(answer: RequestListener): Promise<Link> {
  const home = realpathSync(mkdtempSync(path.join(tmpdir(), "pw-link-")));
  mkdirSync(home, { recursive: true });
  vi.stubEnv("PI_WORKFLOWS_HOME", home);
  const server = createServer(answer);
  await new Promise<void>((done) => void server.listen(path.join(home, "server.sock"), done));
  const link = new Link({ findNode: () => Promise.reject(new Error("none")), answerMs: 50 });
  onTestFinished(async () => {
    link.close();
    vi.unstubAllEnvs();
    server.closeAllConnections();
    await new Promise((done) => void server.close(done));
    rmSync(home, { recursive: true, force: true });
  });
  return link;
}

describe("a link to the server", () => {
  it("gives up on one that hangs, says what to do, and does not start another beside it", async () => {
    const link = await linkTo(() => undefined);
    const thrown = await link
      .ask((client) => client.status(), true)
      .catch((error: unknown) => error);
    expect(describeError(thrown)).toMatch(/has not answered.*\n.*`pi-workflows server status`/);
  });

  it("lets go of what is under way when its session ends", async () => {
    const link = await linkTo(() => undefined);
    const asked = link.ask((client) => client.status(), false);
    link.close();
    link.close();
    await expect(asked).rejects.toThrow("The session has ended");
  });

  it("keeps nothing of what was asked, however often, and warns of nothing on Pi's screen", async () => {
    const link = await linkTo(() => undefined);
    const before = getEventListeners(link.closed, "abort").length;
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on("warning", onWarning);
    onTestFinished(() => void process.off("warning", onWarning));
    const ask = () => link.ask(() => Promise.resolve(1), false);
    await Promise.all(Array.from({ length: 20 }, ask));
    expect(getEventListeners(link.closed, "abort")).toHaveLength(before);
    expect(warnings).toEqual([]);
  });
});

describe("following the server", () => {
  it("goes on through all that fails, and tells only what trying again can't mend", async () => {
    const end = new AbortController();
    const items: number[] = [];
    const troubles: unknown[] = [];
    let opened = 0;
    await follow<number>({
      async *open() {
        opened += 1;
        if (opened === 1) throw new Error("broken");
        yield opened;
        if (opened === 3) end.abort();
      },
      onItem: (item) => void items.push(item),
      onLost: () => undefined,
      onTrouble: (thrown) => void troubles.push(thrown),
      signal: end.signal,
      backoff: { wait: () => Promise.resolve(), reset: () => undefined },
    });
    expect(items).toEqual([2, 3]);
    expect(troubles).toHaveLength(1);
  });
});

describe("trouble in the background", () => {
  it("is told once, and also where what reports it makes no sense", () => {
    const said: string[] = [];
    const onTrouble = createTrouble((text) => void said.push(text));
    const details = { problems: 3 };
    const senseless = new PiWorkflowsError("INTERNAL", "broken", { details });
    for (const thrown of [new Error("one"), senseless, new Error("one"), senseless]) {
      onTrouble(thrown);
    }
    expect(said).toEqual([
      expect.stringContaining("one"),
      "pi-workflows: what the server answers can't be read",
    ]);
  });
});
