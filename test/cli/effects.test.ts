import { beforeAll, describe, expect, it } from "vitest";
import { buildCommandLine, makeWorkspace } from "./command-line.ts";

beforeAll(buildCommandLine);

/** A manager whose one effect can't be told: the answer is lost, and observing finds nothing out. */
const LOST = `
import { conditionTrue, defineResourceManager, EffectRejected } from "@osolmaz/pi-workflows/resource-managers";
export default defineResourceManager({
  name: "lost",
  initialStatus: () => ({}),
  async reconcile(ctx, resource) {
    await ctx.finalizers.add("lost/stays");
    try {
      const effect = await ctx.effects.ensure({
        key: "send:" + resource.metadata.generation,
        kind: "letter",
        request: { to: resource.spec.to },
        observe: () => Promise.resolve({ state: "unknown", reason: "nobody answers" }),
        apply: () => Promise.reject(new Error("the line was cut")),
      });
      return ctx.settled({ conditions: [conditionTrue("Ready", "Sent", effect.externalRef)] });
    } catch (error) {
      if (!(error instanceof EffectRejected)) throw error;
      return ctx.settled({ conditions: [conditionTrue("Ready", "NotSent", error.message)] });
    }
  },
});
`;

describe("an effect that can't be told", () => {
  const workspace = makeWorkspace();
  const { ok, json, run } = workspace;
  beforeAll(async () => {
    workspace.write(".pi/resource-managers/lost.resource-manager.ts", LOST);
    for (const key of ["one", "two", "three"]) await ok(["apply", "lost", key, '{"to": "Ada"}']);
    for (const key of ["one", "two", "three"]) {
      await ok(["wait", "lost", key, "--for", "condition=EffectIndeterminate", "--timeout", "40s"]);
    }
  });

  it("is listed as open and parked", async () => {
    const text = await ok(["effects", "--open"]);
    expect(text).toMatch(/lost\/one +send:1 +letter +indeterminate \(parked\)/);
    const { effects } = await json<{ effects: object[] }>(["effects", "lost", "one"]);
    expect(effects).toMatchObject([
      { key: "send:1", kind: "letter", state: "indeterminate", parked: true },
    ]);
  });

  it("is what why says that the resource waits for, with the command that settles it", async () => {
    const text = await ok(["why", "lost", "one"]);
    expect(text).toContain("It can't be told whether effect send:1 happened");
    expect(text).toContain("`pi-workflows effect resolve lost one send:1 --applied`");
  });

  it("is settled as applied, and the resource goes on", async () => {
    const text = await ok([
      "effect",
      "resolve",
      "lost",
      "one",
      "send:1",
      "--applied",
      "--ref",
      "L-1",
    ]);
    expect(text).toContain("lost one: effect send:1 is applied");
    expect(await ok(["wait", "lost", "one"])).toContain("lost one is ready (Sent)");
    const again = await run(["effect", "resolve", "lost", "one", "send:1", "--applied"]);
    expect(again.code).toBe(2);
    expect(again.stderr).toContain("error[EFFECT_NOT_OPEN]");
  });

  it("is settled as not applied, for a reason", async () => {
    await ok([
      "effect",
      "resolve",
      "lost",
      "two",
      "send:1",
      "--not-applied",
      "--reason",
      "lost in the post",
    ]);
    await ok(["wait", "lost", "two"]);
    expect(await ok(["effects", "lost", "two"])).toContain("lost in the post");
  });

  it("that is not there is refused with what is open", async () => {
    const { code, stderr } = await run(["effect", "resolve", "lost", "three", "sent", "--applied"]);
    expect(code).toBe(2);
    expect(stderr).toContain("Its open effects: send:1.");
  });

  it("D-8: is named as left behind when its resource is removed by force", async () => {
    await ok(["delete", "lost", "three", "--yes"]);
    const text = await ok(["delete", "lost", "three", "--yes", "--force-finalizers"]);
    expect(text).toContain("lost three is gone");
    expect(text).toContain("clean-up that was skipped: lost/stays");
    expect(text).toContain("may be left behind: effect send:1 (letter), indeterminate");
  });
});
