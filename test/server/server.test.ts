import { describe, expect, it, beforeAll } from "vitest";
import {
  applySpecs,
  buildServer,
  makeProject,
  startServerProcess,
  untilTrue,
} from "./server-process.ts";

beforeAll(buildServer);

describe("a server process", () => {
  it("takes specs over the socket, reconciles them in a runner, and shows the result", async () => {
    const { client } = await startServerProcess();
    const project = makeProject({
      echo: `return ctx.settled({
        resourceManagerStatus: { saw: resource.spec.text },
        conditions: [{ type: "Ready", status: true, reason: "Echoed" }],
      });`,
    });
    const receipt = await applySpecs(client, project, "echo", { a: { text: "hello" } });
    expect(receipt.actions).toMatchObject([{ kind: "create", outcome: "done" }]);
    const ref = { project, resourceManager: "echo", key: "a" };
    await untilTrue(async () => (await client.get(ref))?.resource.status.observedGeneration === 1);
    const stored = await client.get(ref);
    expect(stored?.resource.status).toMatchObject({
      observedGeneration: 1,
      resourceManagerStatus: { saw: "hello" },
      conditions: expect.arrayContaining([
        expect.objectContaining({ type: "Ready", status: true, reason: "Echoed" }),
      ]),
    });
    expect(await client.status()).toMatchObject({ passes: { running: 0, done: 1, failed: 0 } });
  });
});
