import { PiWorkflowsError } from "../../model/errors.ts";
import { printable } from "../../model/text.ts";
import type { ServerStatus } from "../../server/protocol.ts";
import { columns } from "../columns.ts";
import type { Documents } from "../schemas/documents.ts";
import { instant, relative } from "../time.ts";
import type { Action } from "../verb.ts";

export const run: Action<object> = async (cli) => {
  const client = await cli.client({ start: false });
  if (client === undefined) {
    throw new PiWorkflowsError("SERVER_UNREACHABLE", `no server runs for ${cli.home}`, {
      hint: "The next command that changes something starts one; so does `pi-workflows server start`.",
    });
  }
  const status = await client.status();
  cli.output.result(status satisfies Documents["server-status"], () =>
    describe(status, Date.now()),
  );
};

function describe(status: ServerStatus, now: number): string {
  const { store, runners, passes, runs } = status;
  const head = columns([
    ["running", `pid ${status.pid}, version ${status.version}`],
    ["since", `${instant(status.startedAt)} (${relative(status.startedAt, now)})`],
    ["state folder", printable(status.home)],
    ...(status.webhookPort === undefined
      ? []
      : [["webhooks", `http://127.0.0.1:${status.webhookPort}/webhooks/NAME`]]),
    ["resources", `${store.resources}, revision ${store.revision}`],
    ["passes", `${passes.running} running, ${passes.done} done, ${passes.failed} failed`],
    [
      "runs",
      `${runs.running} running, ${runs.pending} pending, ${runs.waiting} waiting, ${runs.interrupted} interrupted`,
    ],
    ["runners", `${runners.alive} alive, ${runners.busy} busy`],
    [
      "database",
      `SQLite ${store.sqliteVersion}, schema ${store.schemaVersion}, WAL ${kib(status.walBytes)}`,
    ],
  ]);
  if (status.lanes.length === 0) return head;
  const rows = status.lanes.map((lane) => [
    lane.manager,
    String(lane.ready),
    String(lane.running),
    lane.nextReadyAt === undefined ? "-" : relative(lane.nextReadyAt, now),
    printable(lane.project),
  ]);
  return `${head}\n\n${columns([["MANAGER", "DUE", "RUNNING", "NEXT", "PROJECT"], ...rows])}`;
}

function kib(bytes: number): string {
  return `${Math.ceil(bytes / 1024)} KiB`;
}
