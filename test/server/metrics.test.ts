import { request } from "node:http";
import { describe, expect, it } from "vitest";
import { defineResourceManager } from "../../src/resource-managers/define.ts";
import { TerminalError } from "../../src/resource-managers/results.ts";
import { Histogram, Series } from "../../src/server/observe/exposition.ts";
import { creation, host, PROJECT, quiet } from "./hosting.ts";
import { untilTrue } from "./server-process.ts";

/** Metrics by name and labels, and what is said of each family. */
function parse(text: string) {
  const values = new Map<string, number>();
  const types = new Map<string, string>();
  for (const line of text.trimEnd().split("\n")) {
    const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line);
    if (type) types.set(type[1] as string, type[2] as string);
    if (line.startsWith("#")) continue;
    const sample =
      /^([a-zA-Z_:][\w:]*(?:\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*\})?) (\S+)$/.exec(line);
    if (!sample) throw new Error(`not a line of the format: ${line}`);
    values.set(sample[1] as string, Number(sample[2]));
  }
  return { values, types };
}

async function scrape(socketPath: string) {
  const response = await new Promise<{
    type: string | undefined;
    text: string;
    status: number | undefined;
  }>((resolve, reject) => {
    request({ socketPath, path: "/metrics" }, (message) => {
      const chunks: Buffer[] = [];
      message.on("data", (chunk: Buffer) => chunks.push(chunk));
      message.on("end", () =>
        resolve({
          status: message.statusCode,
          type: message.headers["content-type"],
          text: Buffer.concat(chunks).toString(),
        }),
      );
    })
      .on("error", reject)
      .end();
  });
  expect(response).toMatchObject({ status: 200, type: "text/plain; version=0.0.4; charset=utf-8" });
  return parse(response.text);
}

const failing = defineResourceManager<unknown, object>({
  name: "failing",
  initialStatus: () => ({}),
  reconcile: () => {
    throw new TerminalError("never");
  },
});

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
    return ctx.requeueAfter(3_600_000);
  },
});

describe("GET /metrics", () => {
  it("counts what passes, the queue and effects came to, under the names of controller-runtime", async () => {
    const { server, socket } = await host({ managers: [quiet, failing, sending] });
    const { client } = server;
    const changes = [
      creation("a"),
      creation("b"),
      creation("c", {}, "failing"),
      creation("d", {}, "sending"),
    ];
    await client.commit({ project: PROJECT, changes });
    await untilTrue(async () => {
      const { passes } = await client.status();
      return passes.done + passes.failed === 4 && passes.running === 0;
    });
    const { values, types } = await scrape(socket);
    const of = (name: string, controller: string, more = "") =>
      values.get(`${name}{controller="${controller}",project="${PROJECT}"${more}}`);
    const queue = (name: string, controller: string) =>
      values.get(`${name}{name="${controller}",project="${PROJECT}"}`);

    expect(of("controller_runtime_reconcile_total", "quiet", ',result="success"')).toBe(2);
    expect(of("controller_runtime_reconcile_total", "failing", ',result="error"')).toBe(1);
    expect(of("controller_runtime_reconcile_total", "sending", ',result="requeue_after"')).toBe(1);
    expect(of("controller_runtime_reconcile_errors_total", "quiet")).toBe(0);
    expect(of("controller_runtime_reconcile_errors_total", "failing")).toBe(1);
    expect(of("controller_runtime_terminal_reconcile_errors_total", "failing")).toBe(1);
    expect(of("controller_runtime_reconcile_time_seconds_count", "quiet")).toBe(2);
    expect(of("controller_runtime_reconcile_time_seconds_bucket", "quiet", ',le="+Inf"')).toBe(2);
    expect(of("controller_runtime_active_workers", "quiet")).toBe(0);
    expect(of("controller_runtime_max_concurrent_reconciles", "quiet")).toBe(4);
    expect(queue("workqueue_depth", "quiet")).toBe(0);
    expect(queue("workqueue_adds_total", "quiet")).toBe(2);
    // Its spec, and the time that it asked for.
    expect(queue("workqueue_adds_total", "sending")).toBe(2);
    expect(queue("workqueue_retries_total", "failing")).toBe(0);
    expect(queue("workqueue_queue_duration_seconds_count", "quiet")).toBe(2);
    expect(queue("workqueue_work_duration_seconds_count", "quiet")).toBe(2);
    expect(of("pi_workflows_effects_total", "sending", ',state="applied"')).toBe(1);
    expect(values.get('pi_workflows_open_effects{state="parked"}')).toBe(0);
    expect(values.get("pi_workflows_resources")).toBe(4);
    expect(values.get("process_resident_memory_bytes")).toBeGreaterThan(1e7);
    expect(types.get("controller_runtime_reconcile_time_seconds")).toBe("histogram");
    expect(types.get("workqueue_adds_total")).toBe("counter");
  });

  it("shows what runs now", async () => {
    let release = (): void => {};
    const gate = new Promise<void>((resolve) => (release = resolve));
    const slow = defineResourceManager<unknown, object>({
      name: "slow",
      maxConcurrent: 1,
      initialStatus: () => ({}),
      reconcile: async (ctx) => {
        await gate;
        return ctx.settled();
      },
    });
    const { server, socket } = await host({ managers: [slow] });
    const changes = ["a", "b", "c"].map((key) => creation(key, {}, "slow"));
    await server.client.commit({ project: PROJECT, changes });
    await untilTrue(async () => (await server.client.status()).passes.running === 1);
    const { values } = await scrape(socket);
    const labels = `{name="slow",project="${PROJECT}"}`;
    expect(
      values.get(`workqueue_longest_running_processor_seconds${labels}`),
    ).toBeGreaterThanOrEqual(0);
    expect(
      values.get(
        `controller_runtime_max_concurrent_reconciles{controller="slow",project="${PROJECT}"}`,
      ),
    ).toBe(1);
    expect(
      values.get(`controller_runtime_active_workers{controller="slow",project="${PROJECT}"}`),
    ).toBeGreaterThan(0);
    release();
    await untilTrue(async () => (await server.client.status()).passes.done === 3);
  });
});

describe("the text format", () => {
  it("escapes what labels may hold", () => {
    const series = new Series("gauge", "m", "help");
    series.set({ project: 'a"b\\c\nd' }, 1);
    expect(series.text()).toBe('# HELP m help\n# TYPE m gauge\nm{project="a\\"b\\\\c\\nd"} 1\n');
    expect(() => parse(series.text())).not.toThrow();
  });

  it("sums buckets up, and counts what is above all of them", () => {
    const histogram = new Histogram("h", "help", [1, 2.5]);
    for (const value of [0.5, 1, 2, 9]) histogram.observe({}, value);
    expect(histogram.text().split("\n").slice(2)).toEqual([
      'h_bucket{le="1"} 2',
      'h_bucket{le="2.5"} 3',
      'h_bucket{le="+Inf"} 4',
      "h_sum 12.5",
      "h_count 4",
      "",
    ]);
  });
});
