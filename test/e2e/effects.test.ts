import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { StoredEffect } from "../../src/model/effect.ts";
import { buildAll, eventually, Stage, type Lifetime } from "./stage.ts";

beforeAll(buildAll);

/** A manager of one effect, whose provider is this test: it acts by files in the project. */
function stageWith(test: Lifetime, body: string, more = ""): Stage {
  const stage = new Stage(test);
  stage.write(
    ".pi/resource-managers/letter.resource-manager.ts",
    `import { appendFileSync, existsSync } from "node:fs";
     import { conditionTrue, defineResourceManager } from "@osolmaz/pi-workflows/resource-managers";
     const at = (file: string) => ${JSON.stringify(stage.project)} + "/" + file;
     const note = (text: string) => appendFileSync(at("provider.log"), text + "\\n");
     const opened = async (file: string) => {
       while (!existsSync(at(file))) await new Promise((resolve) => setTimeout(resolve, 10));
     };
     export default defineResourceManager<{ to: string; send?: boolean }, object>({
       name: "letter",
       initialStatus: () => ({}),
       ${more}
       async reconcile(ctx, resource) { ${body} },
     });`,
  );
  return stage;
}

const told = (stage: Stage) => {
  const file = path.join(stage.project, "provider.log");
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
};
const allow = (stage: Stage, gate: string) => writeFileSync(path.join(stage.project, gate), "");
const letter = (stage: Stage, spec: object) =>
  stage.ok(["apply", "letter", "ada", JSON.stringify(spec)]);

/** Effects of the project, those of removed resources too. */
const ledger = async (stage: Stage) =>
  (await stage.json<{ effects: StoredEffect[] }>(["effects"])).effects;

describe("an effect whose answers are lost", () => {
  it.concurrent("E-7: is called again only when the window since its latest call is over", async (test) => {
    const windowMs = 2_500;
    const stage = stageWith(
      test,
      `await ctx.effects.ensure({
         key: "send", kind: "letter", request: {}, consistencyWindowMs: ${windowMs},
         observe: async () => { note("look " + Date.now()); return { state: "absent" }; },
         apply: async () => { note("call " + Date.now()); throw new Error("the line was cut"); },
       });
       return ctx.settled();`,
    );
    await letter(stage, { to: "Ada" });
    await eventually(async () => {
      expect(await ledger(stage)).toMatchObject([
        { state: "indeterminate", parked: true, attempts: 3 },
      ]);
    });
    const calls = told(stage)
      .filter((line) => line.startsWith("call"))
      .map((line) => Number(line.split(" ")[1]));
    expect(calls).toHaveLength(3);
    for (const [index, at] of calls.slice(1).entries()) {
      expect(at - (calls[index] as number)).toBeGreaterThanOrEqual(windowMs);
    }
  });
});

describe("E-10: an answer that comes late still reaches the ledger", () => {
  const SEND = `await ctx.effects.ensure({
    key: "send", kind: "letter", request: {},
    observe: () => Promise.resolve({ state: "unknown", reason: "nobody answers" }),
    apply: async (signal) => { note("called"); await wait(signal); return { externalRef: "L-1" }; },
  });`;

  it.concurrent("of a pass whose resource was removed by force meanwhile", async (test) => {
    const stage = stageWith(
      test,
      `const wait = () => opened("answer");
       await ctx.finalizers.add("letter/recall");
       ${SEND}
       note("went on");
       return ctx.settled({ conditions: [conditionTrue("Ready", "Sent")] });`,
    );
    await letter(stage, { to: "Ada" });
    await eventually(() => expect(told(stage)).toEqual(["called"]));
    const gone = await stage.ok(["delete", "letter", "ada", "--yes", "--force-finalizers"]);
    expect(gone).toContain("may be left behind: effect send (letter), indeterminate");
    allow(stage, "answer");
    await eventually(async () => {
      expect(await ledger(stage)).toMatchObject([{ state: "applied", externalRef: "L-1" }]);
    });
    expect(await stage.ok(["get", "-o", "name"])).toBe("");
  });

  it.concurrent("of a pass that was called off at its deadline", async (test) => {
    const stage = stageWith(
      test,
      `const wait = (signal) => new Promise((resolve) => signal.addEventListener("abort", resolve));
       ${SEND}
       return ctx.settled({ conditions: [conditionTrue("Ready", "Sent")] });`,
      "deadlineMs: 1_000,",
    );
    await letter(stage, { to: "Ada" });
    await stage.ok(["wait", "letter", "ada", "--timeout", "2m"]);
    expect(told(stage)).toEqual(["called"]);
    expect(await ledger(stage)).toMatchObject([
      { state: "applied", externalRef: "L-1", attempts: 1 },
    ]);
    const shown = await stage.ok(["describe", "letter", "ada"]);
    expect(shown).toContain("deadline");
  });
});

describe("R-4: an effect that no pass asks for any more", () => {
  it.concurrent("is shown wherever one looks, and listed when its resource is removed", async (test) => {
    const stage = stageWith(
      test,
      `await ctx.finalizers.add("letter/recall");
       if (resource.metadata.deletionTimestamp) {
         await ctx.finalizers.remove("letter/recall");
         return ctx.settled();
       }
       if (resource.spec.send) {
         await ctx.effects.ensure({
           key: "send:" + resource.spec.to, kind: "letter", request: {},
           observe: () => Promise.resolve({ state: "unknown", reason: "nobody answers" }),
           apply: () => Promise.reject(new Error("the line was cut")),
         });
       }
       return ctx.settled({ conditions: [conditionTrue("Ready", "Idle")] });`,
    );
    await letter(stage, { to: "Ada", send: true });
    await eventually(async () =>
      expect(await ledger(stage)).toMatchObject([{ state: "indeterminate" }]),
    );
    await letter(stage, { to: "Bob", send: false });
    await stage.ok(["wait", "letter", "ada", "--timeout", "2m"]);

    expect(await stage.ok(["effects", "--open"])).toContain("send:Ada");
    const { status } = await stage.resource("letter", "ada");
    const shown = status.conditions.find(({ type }) => type === "EffectIndeterminate");
    expect(shown).toMatchObject({ status: true });
    expect(shown?.message).toContain("send:Ada");
    expect(await stage.ok(["describe", "letter", "ada"])).toContain("send:Ada");
    expect(await stage.ok(["why", "letter", "ada"])).toContain("send:Ada");

    const gone = await stage.ok(["delete", "letter", "ada", "--yes", "--wait"]);
    expect(gone).toContain("may be left behind: effect send:Ada (letter), indeterminate");
    expect(await stage.ok(["events", "-o", "json"])).toContain(
      "effects that may be left behind: send:Ada",
    );
    expect(await ledger(stage)).toMatchObject([{ key: "send:Ada", state: "indeterminate" }]);
    expect(await stage.ok(["effects", "--open"])).toContain("send:Ada");
  });
});
