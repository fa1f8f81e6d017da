import { request, type IncomingMessage } from "node:http";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ResourceEvent } from "../../src/model/event.ts";
import { defineResourceManager } from "../../src/resource-managers/define.ts";
import { connect } from "../../src/server/client.ts";
import type { Client, WatchItem } from "../../src/server/protocol.ts";
import { creation, host, PROJECT } from "./hosting.ts";
import { eventually, untilTrue } from "./server-process.ts";

const talkative = defineResourceManager<{ size: number }, object>({
  name: "talkative",
  initialStatus: () => ({}),
  async reconcile(ctx, resource) {
    await ctx.events.emit({ type: "Normal", reason: "Saw", message: `size ${resource.spec.size}` });
    return ctx.settled();
  },
});

/** Collects a stream until the test ends. */
function collect<T>(open: (signal: AbortSignal) => AsyncIterable<T>): {
  items: T[];
  end(): Promise<void>;
} {
  const items: T[] = [];
  const controller = new AbortController();
  const ended = (async () => {
    for await (const item of open(controller.signal)) items.push(item);
  })();
  const end = async (): Promise<void> => {
    controller.abort();
    await ended;
  };
  onTestFinished(end);
  return { items, end };
}

const clients: [string, (home: string, local: Client) => Promise<Client>][] = [
  ["over the socket", (home) => connect({ home })],
  ["in process", (_home, local) => Promise.resolve(local)],
];

describe.each(clients)("streams %s", (_name, make) => {
  async function started() {
    const { server, home } = await host({ managers: [talkative] });
    const client = await make(home, server.client);
    onTestFinished(() => client.close());
    const apply = (key: string, size: number) =>
      client.commit({ project: PROJECT, changes: [creation(key, { size }, "talkative")] });
    return { client, apply };
  }

  it("events: those to come, or all after a cursor", async () => {
    const { client, apply } = await started();
    await apply("a", 1);
    const all = collect((signal) => client.events({ after: 0 }, signal));
    const saw = ({ reason }: ResourceEvent) => reason === "Saw";
    await untilTrue(() => all.items.some(saw));
    const fresh = collect((signal) => client.events({}, signal));
    const wake = () => client.reconcile({ project: PROJECT, resourceManager: "talkative" });
    await eventually(async () => {
      await wake();
      expect(fresh.items.some(saw)).toBe(true);
    });
    const sequences = all.items.map(({ sequence }) => sequence);
    expect(sequences).toEqual([...sequences].sort((a, b) => a - b));
    expect(fresh.items.every((event) => event.sequence > (sequences[0] as number))).toBe(true);
  });

  it("watch: all that match, then each change, and what is gone", async () => {
    const { client, apply } = await started();
    await apply("a", 1);
    const seen = collect((signal) => client.watch({ project: PROJECT }, signal));
    const steps = () =>
      seen.items.map((item: WatchItem) =>
        item.kind === "listed" ? "listed" : `${item.kind} ${item.resource.metadata.key}`,
      );
    await untilTrue(() => steps().includes("listed"));
    expect(steps().slice(0, 2)).toEqual(["present a", "listed"]);
    await apply("b", 1);
    await untilTrue(() => steps().includes("present b"));
    const origin = { owner: { kind: "person", name: "me" } } as const;
    await client.delete({ project: PROJECT, resourceManager: "talkative", key: "a" }, { origin });
    await untilTrue(() => steps().includes("removed a"));
    await seen.end();
  });

  it("watch: leaves out what does not match", async () => {
    const { client, apply } = await started();
    const seen = collect((signal) => client.watch({ project: "/elsewhere" }, signal));
    await untilTrue(() => seen.items.length === 1);
    await apply("a", 1);
    await untilTrue(async () => {
      const item = await client.get({ project: PROJECT, resourceManager: "talkative", key: "a" });
      return item?.resource.status.observedGeneration === 1;
    });
    expect(seen.items).toEqual([{ kind: "listed" }]);
  });
});

it("a reader that lost its connection goes on after what it saw last", async () => {
  const { server, socket } = await host({ managers: [talkative] });
  const { client } = server;
  await client.commit({ project: PROJECT, changes: [creation("a", { size: 1 }, "talkative")] });
  const all = collect((signal) => client.events({ after: 0 }, signal));
  await untilTrue(() => all.items.length >= 2);
  const [first, second] = all.items as [ResourceEvent, ResourceEvent];
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { "last-event-id": String(first.sequence) };
    const outgoing = request({ socketPath: socket, path: "/v1/events", headers }, resolve);
    outgoing.on("error", reject).end();
  });
  onTestFinished(() => void response.destroy());
  expect(response.headers["content-type"]).toBe("text/event-stream");
  let text = "";
  response.on("data", (chunk: Buffer) => (text += chunk.toString()));
  await untilTrue(() => text.includes("\n\n"));
  expect(text).toMatch(new RegExp(`^id: ${second.sequence}\ndata: {`));
});
