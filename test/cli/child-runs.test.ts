import { beforeAll, describe, expect, it } from "vitest";
import type { RunSummary } from "../../src/model/run.ts";
import { buildCommandLine, makeWorkspace } from "./command-line.ts";
import { RELEASE } from "./release-workflow.ts";

/** A manager that has a version released by a child run, and is ready when that has succeeded. */
const RELEASED = `
import { conditionFalse, conditionTrue, defineResourceManager } from "@osolmaz/pi-workflows/resource-managers";
export default defineResourceManager({
  name: "released",
  initialStatus: () => ({}),
  async reconcile(ctx, resource) {
    if (resource.metadata.deletionTimestamp) return ctx.settled();
    const { version } = resource.spec;
    const run = await ctx.workflows.ensure({
      requestKey: "release:" + version,
      workflow: "release",
      input: { version },
    });
    const ready = run.state === "succeeded";
    return ctx.settled({
      conditions: [ready ? conditionTrue("Ready", "Released") : conditionFalse("Ready", "Releasing")],
    });
  },
});
`;

beforeAll(buildCommandLine);

describe("a resource with child runs", () => {
  const workspace = makeWorkspace();
  const { ok, json, run, write } = workspace;
  let id = "";
  beforeAll(async () => {
    write(".pi/workflows/release.workflow.ts", RELEASE);
    write(".pi/resource-managers/released.resource-manager.ts", RELEASED);
    await ok(["apply", "released", "app", '{"version": "1"}']);
    await ok(["wait", "released", "app", "--for", "condition=Ready=False"]);
    const { runs } = await json<{ runs: RunSummary[] }>(["runs"]);
    id = (runs[0] as RunSummary).runId.slice(-8);
    await run(["run", "wait", id]);
  });

  it("is explained by what its child waits for, with the command that helps", async () => {
    const text = await ok(["why", "released", "app"]);
    expect(text).toContain(`run         child run release ${id} was asked for`);
    expect(text).toContain(
      `Now: Its child run release ${id} is waiting (Checkpoint). ask asks: release 1?\n` +
        `     Answer with \`pi-workflows run answer ${id} yes\`, or with no.`,
    );
    const { now } = await json<{ now: { state: string } }>(["why", "released", "app"]);
    expect(now.state).toBe("child");
  });

  it("is described with them, and they name it", async () => {
    const text = await ok(["describe", "released", "app"]);
    expect(text).toMatch(
      new RegExp(
        `Child runs\\n.*REQUEST.*\\n  ${id}  release +waiting \\(Checkpoint\\) .* release:1`,
      ),
    );
    expect(await ok(["runs"])).toMatch(/CHILD OF\n.* released app$/m);
    expect(await ok(["run", "show", id])).toContain("child of  released app, request release:1");
  });

  it("shows why the latest one failed, and keeps the earlier ones", async () => {
    write("broken", "");
    await ok(["apply", "released", "app", '{"version": "2"}']);
    await expect
      .poll(() => ok(["why", "released", "app"]), { timeout: 20_000, interval: 200 })
      .toMatch(/Its child run release \w{8} failed \(NodeFailed\)\. build failed: /);
    const text = await ok(["why", "released", "app"]);
    expect(text).toMatch(/run +child run release \w{8} failed \(NodeFailed\) in /);
    const described = await json<{ workflows: RunSummary[] }>(["describe", "released", "app"]);
    expect(described.workflows.map(({ parent }) => parent?.requestKey)).toEqual([
      "release:2",
      "release:1",
    ]);
  });

  it("is gone when its children are", async () => {
    const deleted = await run(["delete", "released", "app", "--yes", "--wait"]);
    expect(deleted).toMatchObject({ code: 0, stdout: "released app is gone\n" });
    expect(await ok(["run", "wait", id], { code: 1 })).toContain("failed (Cancelled)");
  });
});
