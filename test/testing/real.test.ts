import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it } from "vitest";
import {
  conditionTrue,
  defineResource,
  defineResourceManager,
} from "../../src/resource-managers/index.ts";
import { startRealServer } from "../../src/testing/index.ts";

it("a real server for tests converges a resource, and leaves nothing behind", async () => {
  const project = realpathSync(mkdtempSync(path.join(tmpdir(), "real-server-")));
  const bell = defineResourceManager<{ times: number }, { rung: number }>({
    name: "bell",
    initialStatus: () => ({ rung: 0 }),
    reconcile: (ctx, { spec }) =>
      ctx.settled({
        resourceManagerStatus: { rung: spec.times },
        conditions: [conditionTrue("Ready", "Rung")],
      }),
  });
  const server = await startRealServer({ project, managers: [bell] });
  const controller = new AbortController();
  const watch = server.client.watch({ project }, controller.signal);
  await server.apply([defineResource(bell, { key: "front", spec: { times: 3 } })]);
  for await (const item of watch) {
    if (item.kind === "present" && item.resource.conditions.some(({ type }) => type === "Ready")) {
      break;
    }
  }
  controller.abort();
  const stored = await server.client.get({ project, resourceManager: "bell", key: "front" });
  expect(stored?.resource.status.resourceManagerStatus).toEqual({ rung: 3 });
  await server.close();
  expect(() => realpathSync(server.home)).toThrow(/ENOENT/);
  rmSync(project, { recursive: true });
});
