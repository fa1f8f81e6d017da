import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { writeFileSync, mkdirSync } from "node:fs";
import path from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { defineResourceManager } from "../../src/resource-managers/define.ts";
import { observedStore, observers } from "../../src/server/observe/observed-store.ts";
import { openTraces } from "../../src/server/observe/traces.ts";
import type { Claimed, ResourceManagerStore } from "../../src/store/store.ts";
import { createExporter, type OtlpSpan } from "../../src/server/observe/otlp.ts";
import { creation, host, PROJECT, quiet } from "./hosting.ts";
import { untilTrue } from "./server-process.ts";
import { tempFolder } from "./temp.ts";
import { VirtualClock } from "./virtual-clock.ts";

const hex = (bytes: number) => z.string().regex(new RegExp(`^[0-9a-f]{${bytes * 2}}$`));
const attributes = z.array(
  z.strictObject({
    key: z.string(),
    value: z.union([
      z.strictObject({ stringValue: z.string() }),
      z.strictObject({ intValue: z.string().regex(/^-?\d+$/) }),
    ]),
  }),
);

/** ExportTraceServiceRequest of OTLP 1.x in its JSON form, as much of it as we send. */
const REQUEST = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: z.strictObject({ attributes }),
      scopeSpans: z.array(
        z.strictObject({
          scope: z.strictObject({ name: z.string(), version: z.string() }),
          spans: z.array(
            z.strictObject({
              traceId: hex(16),
              spanId: hex(8),
              parentSpanId: hex(8).exactOptional(),
              name: z.string().min(1),
              kind: z.literal(1),
              startTimeUnixNano: z.string().regex(/^\d{19}$/),
              endTimeUnixNano: z.string().regex(/^\d{19}$/),
              attributes,
              status: z.strictObject({
                code: z.literal(2).exactOptional(),
                message: z.string().exactOptional(),
              }),
            }),
          ),
        }),
      ),
    }),
  ),
});
type Span = z.output<typeof REQUEST>["resourceSpans"][0]["scopeSpans"][0]["spans"][0];

type Answer = (response: ServerResponse) => void;
const accept: Answer = (response) => void response.writeHead(200).end("{}");

/** A collector on loopback that checks what it is sent. */
async function collector(answer: Answer = accept) {
  const spans: Span[] = [];
  const requests: { url: string | undefined; headers: IncomingHttpHeaders }[] = [];
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      requests.push({ url: incoming.url, headers: incoming.headers });
      const body = REQUEST.parse(JSON.parse(Buffer.concat(chunks).toString()));
      spans.push(
        ...body.resourceSpans.flatMap((one) => one.scopeSpans.flatMap((two) => two.spans)),
      );
      answer(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { spans, requests, url: `http://127.0.0.1:${port}` };
}

const sending = defineResourceManager<unknown, object>({
  name: "sending",
  initialStatus: () => ({}),
  async reconcile(ctx) {
    await ctx.effects.ensure({
      key: "send",
      kind: "letter",
      request: {},
      observe: async () => ({ state: "absent" }),
      apply: async () => undefined,
    });
    throw new Error("the office is closed");
  },
});

it("a pass and its effects are one trace, with what they came to, and go where config.json says", async () => {
  const { spans, requests, url } = await collector();
  const home = path.join(tempFolder(), "home");
  mkdirSync(home);
  writeFileSync(path.join(home, "config.json"), JSON.stringify({ otlp: { endpoint: url } }));
  const { server } = await host({ home, managers: [sending] });
  await server.client.commit({ project: PROJECT, changes: [creation("a", {}, "sending")] });
  await untilTrue(async () => (await server.client.status()).passes.failed === 1);
  await server.stop();
  const pass = spans.find(({ name }) => name === "reconcile sending") as Span;
  const effect = spans.find(({ name }) => name === "effect letter") as Span;
  expect(effect).toMatchObject({ traceId: pass.traceId, parentSpanId: pass.spanId, status: {} });
  expect(pass.status).toEqual({ code: 2, message: "the office is closed" });
  expect(pass.attributes).toContainEqual({ key: "pi_workflows.key", value: { stringValue: "a" } });
  expect(effect.attributes).toContainEqual({
    key: "pi_workflows.effect.state",
    value: { stringValue: "applied" },
  });
  expect(BigInt(pass.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(pass.startTimeUnixNano));
  expect(requests[0]).toMatchObject({
    url: "/v1/traces",
    headers: { "content-type": "application/json" },
  });
});

it("OpenTelemetry's variables win, and their headers are sent", async () => {
  const { spans, requests, url } = await collector();
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", `${url}/base/`);
  vi.stubEnv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x,team=core");
  onTestFinished(() => void vi.unstubAllEnvs());
  const { server } = await host();
  await server.client.commit({ project: PROJECT, changes: [creation("a")] });
  await untilTrue(async () => (await server.client.status()).passes.done === 1);
  await server.stop();
  expect(spans.map(({ name }) => name)).toEqual(["reconcile quiet"]);
  expect(requests[0]).toMatchObject({
    url: "/base/v1/traces",
    headers: { authorization: "Bearer x", team: "core" },
  });
});

it("a collector that hangs holds up no pass and no stop", async () => {
  const hanging = await collector(() => undefined);
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", hanging.url);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { server } = await host({ managers: [quiet] });
  for (const key of ["a", "b", "c"]) {
    await server.client.commit({ project: PROJECT, changes: [creation(key)] });
  }
  await untilTrue(async () => (await server.client.status()).passes.done === 3);
  await server.stop();
  // It was asked, and is not waited for.
  expect(hanging.requests).toHaveLength(1);
});

const span: OtlpSpan = {
  traceId: "0".repeat(32),
  spanId: "1".repeat(16),
  name: "s",
  startedAt: 1_780_000_000_000,
  endedAt: 1_780_000_000_001,
  attributes: {},
};

it("a collector that is down costs spans and one line of the log; memory is bounded", async () => {
  let isUp = false;
  const { spans, url } = await collector((response) => {
    response.writeHead(isUp ? 200 : 503).end();
  });
  const clock = new VirtualClock();
  const warned: string[] = [];
  const log = { debug() {}, info() {}, error() {}, warn: (text: string) => void warned.push(text) };
  const exporter = createExporter({ url, headers: {}, service: "s" }, { clock, log });
  for (let count = 0; count < 10_000; count += 1) exporter.add(span);
  await clock.advance(2_000);
  await untilTrue(() => warned.length === 1);
  // What the first request held is lost; what waits behind it is as much as ever waits.
  expect(spans).toHaveLength(512);
  isUp = true;
  await untilTrue(async () => {
    await clock.advance(60_000);
    return spans.length === 2_048;
  });
  exporter.add(span);
  await exporter.close();
  expect(spans).toHaveLength(2_049);
  exporter.add(span);
  await clock.advance(600_000);
  expect(spans).toHaveLength(2_049);
  expect(warned).toHaveLength(1);
});

it("the passes of one run are one trace, with a span for each attempt of a node", async () => {
  const { spans, url } = await collector();
  const clock = new VirtualClock();
  const log = { debug() {}, info() {}, error() {}, warn() {} };
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: url };
  const traces = openTraces({ config: {}, env, clock, log });
  if (!traces) throw new Error("no traces");
  const claimed = {
    claim: { uid: "run-1", lane: 1, token: "t", generation: 1 },
    reconcileId: "r",
    project: PROJECT,
    manager: "workflow/release",
    resource: { metadata: { key: "run-1" } },
    cause: "request",
    attempts: 0,
  } as unknown as Claimed;
  const stub = {
    claim: async () => [claimed],
    appendJournal: async () => undefined,
    settle: async () => ({ claimed: [] }),
  } as unknown as ResourceManagerStore;
  const store = observedStore(stub, observers([traces]), clock);
  const at = 1_780_000_000_000;
  const line = { at: at + 5, visit: 1, node: "push", attempt: 1, kind: "action", startedAt: at };
  const error = { message: "no", reason: "Error" };
  for (const event of ["succeeded", "failed"] as const) {
    await store.claim({} as never);
    await store.appendJournal(claimed.claim, [
      { ...line, event: "begun" } as never,
      { ...line, event, ...(event === "failed" ? { error, retryable: false } : {}) } as never,
    ]);
    const outcome = { kind: "settled" };
    await store.settle({ claim: claimed.claim, outcome, startedAt: at, durationMs: 9 } as never);
  }
  await traces.close();
  expect(spans.map(({ name, status }) => [name, status.code])).toEqual([
    ["node push", undefined],
    ["run workflow/release", undefined],
    ["node push", 2],
    ["run workflow/release", undefined],
  ]);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  expect(spans[0]?.parentSpanId).toBe(spans[1]?.spanId);
  expect(spans[2]?.parentSpanId).toBe(spans[3]?.spanId);
  expect(spans[1]?.spanId).not.toBe(spans[3]?.spanId);
});
