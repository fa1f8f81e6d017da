// A server in a process of its own, as `pi-workflows server run` makes one, that also counts its
// commits and settles and measures its event loop. Arguments: state folder, passes at once, and how
// many settles to report when they are done.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createServer } from "../../src/server/index.ts";
import type { HostReport, HostRequest } from "../host.ts";

const [home = "", concurrency = "", expected = ""] = process.argv.slice(2);

/** How often the event loop is looked at. The monitor counts this interval in: it is taken off. */
const RESOLUTION_MS = 1;

const loop = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
let commits = 0;
let settles = 0;
let wanted = Number(expected);

const server = createServer({
  home,
  concurrency: Number(concurrency),
  probe(name) {
    if (name === "store.committed") commits += 1;
    if (name !== "store.settle.committed") return;
    settles += 1;
    if (settles === wanted) send(report());
  },
});
await server.start();

process.on("message", (request: HostRequest) => void answer(request));
process.once("disconnect", () => process.exit(1));
send({ kind: "ready" });

async function answer(request: HostRequest): Promise<void> {
  switch (request.kind) {
    case "expect":
      commits = 0;
      settles = 0;
      wanted = request.settles;
      loop.enable();
      loop.reset();
      return send({ kind: "armed" });
    case "report":
      return send(report());
    case "stop":
      await server.stop();
      send({ kind: "stopped" });
      process.disconnect();
  }
}

function report(): HostReport {
  const { rss } = process.memoryUsage();
  const ms = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
  const blocks = { p99: ms(loop.percentile(99)), max: ms(loop.max) };
  return {
    kind: "report",
    commits,
    settles,
    blocks,
    rss,
    at: Number(process.hrtime.bigint()) / 1e6,
  };
}

function send(message: HostReport | { kind: "ready" | "armed" | "stopped" }): void {
  process.send?.(message);
}
