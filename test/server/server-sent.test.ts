import { createServer, get, type IncomingMessage } from "node:http";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { sendStream, type StreamTiming } from "../../src/server/server-sent.ts";
import { eventually, untilTrue } from "./server-process.ts";
import { tempFolder } from "./temp.ts";

/** Serves one stream, and opens it without reading. */
async function open(
  items: (signal: AbortSignal) => AsyncIterable<object>,
  timing: Partial<StreamTiming> = {},
): Promise<{ response: IncomingMessage; ended: () => boolean }> {
  let ended = false;
  const socketPath = path.join(tempFolder(), "s");
  const server = createServer((_request, response) => {
    void sendStream(response, items, { heartbeatMs: 60_000, stalledMs: 60_000, ...timing }).then(
      () => (ended = true),
    );
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((done) => server.listen(socketPath, done));
  const response = await new Promise<IncomingMessage>((done, failed) => {
    get({ socketPath, agent: false }, done).on("error", failed);
  });
  return { response, ended: () => ended };
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of response) text += (chunk as Buffer).toString();
  return text;
}

describe("a stream of server-sent events", () => {
  it("writes each item with its sequence as id, and ends with them", async () => {
    const { response } = await open(async function* () {
      yield { sequence: 7, text: "a\nb" };
      yield { kind: "listed" };
    });
    expect(await textOf(response)).toBe(
      'id: 7\ndata: {"sequence":7,"text":"a\\nb"}\n\ndata: {"kind":"listed"}\n\n',
    );
  });

  it("says what went wrong", async () => {
    // oxlint-disable-next-line require-yield
    const { response } = await open(async function* () {
      throw new TypeError("oops");
    });
    expect(await textOf(response)).toMatch(/^event: error\ndata: \{"code":"INTERNAL"/);
  });

  it("shows signs of life while nothing happens", async () => {
    const { response } = await open(
      async function* (signal) {
        await new Promise((done) => signal.addEventListener("abort", done));
        yield {};
      },
      { heartbeatMs: 10 },
    );
    let text = "";
    response.on("data", (chunk: Buffer) => (text += chunk.toString()));
    await eventually(() => expect(text).toContain(": alive\n\n: alive\n\n"));
    response.destroy();
  });

  it("does not run ahead of a reader that takes nothing, and drops it when it stalls", async () => {
    let made = 0;
    let left = false;
    const { ended } = await open(
      async function* (signal) {
        signal.addEventListener("abort", () => (left = true));
        for (;;) {
          made += 1;
          yield { text: "x".repeat(100_000) };
        }
      },
      { stalledMs: 100 },
    );
    await untilTrue(() => ended());
    expect(left).toBe(true);
    expect(made).toBeLessThan(100);
  });

  it("ends when the reader leaves", async () => {
    const { response, ended } = await open(async function* (signal) {
      yield { sequence: 1 };
      await new Promise((done) => signal.addEventListener("abort", done));
    });
    response.destroy();
    await untilTrue(() => ended());
    expect(response.destroyed).toBe(true);
  });
});
