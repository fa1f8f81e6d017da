import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { Client } from "../../src/server/protocol.ts";
import { openReader } from "../../src/store/sqlite/reader.ts";
import { buildServer, startServerProcess } from "../server/server-process.ts";
import { buildResolver, syncedTo, widgetRepository, type Repo } from "./syncing.ts";

beforeAll(() => {
  buildServer();
  buildResolver();
});

const COUNT = 400;

/** One file with many widgets of a size, none of which is reconciled. */
function writeAll(repo: Repo, size: number): void {
  const all = Array.from({ length: COUNT }, (_, number) => ({
    resourceManager: "widget",
    key: `w${number}`,
    spec: { size },
    ...(number === 0 ? { suspend: true } : {}),
  }));
  repo.write(".pi/resources/all.resource.json", JSON.stringify(all));
}

/** How many resources a store has at each generation, read from its file while no server runs. */
async function generations(home: string, project: string) {
  const reader = openReader(path.join(home, "state.sqlite"));
  try {
    const { resources } = await reader.snapshot(project);
    const queue = await reader.queue({ project, limit: 1_000 });
    const counts: Record<number, number> = {};
    for (const { generation } of resources) counts[generation] = (counts[generation] ?? 0) + 1;
    return { counts, queued: new Set(queue.map(({ uid }) => uid)), resources };
  } finally {
    reader.close();
  }
}

async function untilApplying(client: Client, project: string): Promise<void> {
  const controller = new AbortController();
  for await (const item of client.syncWatch({ project }, controller.signal)) {
    if (item.kind === "present" && item.status.activity.state === "applying") break;
  }
  controller.abort();
}

describe("a server that is killed while a sync applies", () => {
  it("A-10: leaves the whole batch or none of it, and the next one brings it to its end", async () => {
    const repo = widgetRepository();
    repo.write(
      ".pi/resource-managers/widget.resource-manager.mjs",
      // Never settles, so that every queue row that was made is still there.
      `export default {
        [Symbol.for("pi-workflows.ResourceManager")]: true,
        name: "widget",
        maxConcurrent: 1,
        initialStatus: () => ({}),
        reconcile: () => new Promise(() => undefined),
      };\n`,
    );
    writeAll(repo, 0);
    repo.commit("many");
    let server = await startServerProcess();
    await server.client.syncEnable({ project: repo.folder });
    await server.client.syncNow(repo.folder);
    for (let round = 1; round <= 3; round += 1) {
      const before = (await generations(server.home, repo.folder)).counts;
      writeAll(repo, round);
      const applying = untilApplying(server.client, repo.folder);
      const commit = repo.commit(`round ${round}`);
      await applying;
      await server.end("SIGKILL");

      const { counts, queued, resources } = await generations(server.home, repo.folder);
      const next = { [round + 1]: COUNT };
      expect([before, next]).toContainEqual(counts);
      // The first is suspended.
      const waiting = resources.filter(({ key }) => key !== "w0");
      expect(waiting.filter(({ uid }) => !queued.has(uid))).toEqual([]);

      server = await startServerProcess(server.home);
      await syncedTo(server.client, repo.folder, commit);
      expect((await generations(server.home, repo.folder)).counts).toEqual(next);
    }
  });
});
