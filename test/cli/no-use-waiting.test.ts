import { beforeAll, describe, expect, it } from "vitest";
import { buildCommandLine, makeWorkspace } from "./command-line.ts";

beforeAll(buildCommandLine);

const HARD = `
import { conditionTrue, defineResourceManager, TerminalError } from "@osolmaz/pi-workflows/resource-managers";
export default defineResourceManager({
  name: "hard",
  initialStatus: () => ({}),
  async reconcile(ctx, resource) {
    if (resource.spec.bad) throw new TerminalError("bad can't be helped");
    if (resource.metadata.deletionTimestamp) {
      if (resource.spec.lost) await ctx.effects.ensure(letter(resource)).catch(() => undefined);
      await ctx.finalizers.remove("hard/clean");
      return ctx.settled();
    }
    await ctx.finalizers.add("hard/clean");
    return ctx.settled({ conditions: [conditionTrue("Ready", "Fine")] });
  },
});
const letter = (resource) => ({
  key: "send",
  kind: "letter",
  request: {},
  observe: () => Promise.resolve({ state: "unknown", reason: "nobody answers" }),
  apply: () => Promise.reject(new Error("the line was cut")),
});
`;

describe("where no wait can help", () => {
  const workspace = makeWorkspace();
  const { ok, run } = workspace;
  beforeAll(() => workspace.write(".pi/resource-managers/hard.resource-manager.ts", HARD));

  it("apply --wait ends at once after a failure for good, and why says what to do", async () => {
    const applied = await run(["apply", "hard", "a", '{"bad": true}', "--wait"]);
    expect(applied.code).toBe(1);
    expect(applied.stdout).toContain(
      "hard a is not tried any more (TerminalError): bad can't be helped",
    );
    const text = await ok(["why", "hard", "a"]);
    expect(text).toContain("It failed for good: bad can't be helped.");
    expect(text).toContain("`pi-workflows reconcile hard a`");
  });

  it("B-1: a new spec is tried again after a failure for good", async () => {
    expect(await ok(["apply", "hard", "a", '{"bad": false}', "--wait"])).toContain(
      "hard a is ready (Fine)",
    );
  });

  it("a wait for a suspended resource ends at once, and reconcile says why it does nothing", async () => {
    await ok(["suspend", "hard", "a"]);
    await ok(["apply", "hard", "a", '{"bad": false, "more": 1}']);
    const waited = await run(["wait", "hard", "a", "--for", "condition=Ready=false"]);
    expect(waited).toMatchObject({ code: 1 });
    expect(waited.stdout).toContain("hard a is suspended; `pi-workflows resume hard a`");
    const reconciled = await run(["reconcile", "hard", "a"]);
    expect(reconciled).toMatchObject({ code: 2 });
    expect(reconciled.stderr).toContain("error[SUSPENDED]: hard a is suspended");
  });

  it("deleting a suspended resource goes through", async () => {
    expect(await ok(["delete", "hard", "a", "--yes", "--wait"])).toContain("hard a is gone");
  });

  it("D-7: an effect that a deleted resource left behind can still be settled", async () => {
    await ok(["apply", "hard", "b", '{"lost": true}', "--wait"]);
    await ok(["delete", "hard", "b", "--yes", "--wait"]);
    expect(await ok(["effects", "--open"])).toMatch(/hard\/b +send /);
    await ok(["effect", "resolve", "hard", "b", "send", "--applied"]);
    expect(await ok(["effects", "--open"])).not.toContain("hard/b");
  });
});
