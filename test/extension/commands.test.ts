import { beforeAll, describe, expect, it } from "vitest";
import { TRIED_PIS } from "../pi/support/installed.ts";
import { decides, SECRET, writeCounter } from "./support/counter.ts";
import { buildExtension, dialogs, setStage, status, type } from "./support/stage.ts";

beforeAll(() => buildExtension());

// Each call starts a Pi of its own, which takes seconds on a busy machine.
const STARTS_MS = 180_000;

describe.each(TRIED_PIS)("/resource-manager in Pi $version", (pi) => {
  it("applies what is new at once, changes after a confirmation, and shows what would be", async (test) => {
    const stage = setStage(test, { pi });
    writeCounter(stage, "a", 1);
    writeCounter(stage, "b", 1);
    const session = await stage.open({ person: decides(false, true) });

    expect(await type(session, "/resource-manager list")).toContain("There are no resources in");
    const created = await session.prompt("/resource-manager apply specs");
    expect(dialogs(created)).toEqual([]);
    await status(session, "2 ready");
    expect(await type(session, "/resource-manager list")).toMatch(
      /MANAGER +KEY +READY.*\ncounter +a +True +Counted/,
    );

    writeCounter(stage, "a", 2);
    const diff = await type(session, "/resource-manager diff specs");
    expect(diff).toContain("~ update counter a");
    expect(diff).toContain("spec.value: 1 → 2");
    const declined = await session.prompt("/resource-manager apply specs");
    expect(dialogs(declined)).toMatchObject([
      { title: "Apply this plan?", message: expect.stringContaining("1 to update") },
    ]);
    expect(await type(session, "/resource-manager get counter a")).toContain("generation 1");
    expect(await type(session, "/resource-manager apply specs")).toContain("updated counter a");
    const shown = await type(session, "/resource-manager get counter a");
    expect(shown).toContain("generation 2");
    expect(shown).toContain('"value": 2');
    expect(shown).not.toContain(SECRET);
    expect(await session.close()).toBe(0);
  });

  it("explains, suspends, resumes, reconciles and deletes", async (test) => {
    const stage = setStage(test, { pi });
    writeCounter(stage, "a", 1);
    const session = await stage.open({ person: decides(false, true) });
    const created = await type(session, '/resource-manager apply counter a {"value": 7} --yes');
    expect(created).toContain("created counter a");
    await status(session, "1 ready");

    expect(await type(session, "/resource-manager why counter a")).toContain(
      "Nothing is left to do",
    );
    expect(await type(session, "/resource-manager describe counter a")).toMatch(/owner +.*\n/);
    expect(await type(session, "/resource-manager events counter a --limit 1")).toMatch(/Normal/);
    expect(await type(session, "/resource-manager suspend counter a")).toContain("is suspended");
    await status(session, "1 suspended");
    expect(await type(session, "/resource-manager resume counter a")).toContain("again");
    expect(await type(session, "/resource-manager reconcile counter")).toContain("1 resource will");

    expect(await type(session, "/resource-manager delete counter a")).toBe("Nothing was deleted.");
    expect(await type(session, "/resource-manager delete counter a")).toBe("counter a is gone.");
    await status(session, /undefined/);
    expect(await type(session, "/resource-manager delete counter a")).toContain(
      "there is no resource counter a",
    );
  });

  it("says what is wrong and what to write", async (test) => {
    const stage = setStage(test, { pi });
    stage.write("specs/bad.resource.json", '{ "resourceManager": "nobody" }');
    const session = await stage.open();

    expect(await type(session, "/resource-manager why")).toContain(
      "Write: /resource-manager why MANAGER KEY",
    );
    expect(await type(session, "/resource-manager")).toContain("/resource-manager apply PATH…");
    const bad = await type(session, "/resource-manager apply specs");
    expect(bad).toContain("specs/bad.resource.json:1:1");
    expect(await type(session, "/resource-manager get counter a")).toContain(
      "there is no resource",
    );
  });

  it(
    "prints to stderr in print mode, with the exit code of the command line",
    async (test) => {
      const stage = setStage(test, { pi });
      writeCounter(stage, "a", 1);
      const printed = (line: string) => stage.runPi("-p", `/resource-manager ${line}`);

      expect(await printed("apply specs")).toMatchObject({ code: 0 });
      expect(await printed("list")).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(/counter +a +(?:True|Unknown)/),
      });
      writeCounter(stage, "a", 2);
      expect(await printed("apply specs")).toMatchObject({
        code: 3,
        stderr: expect.stringContaining("repeat with --yes"),
      });
      expect(await printed("apply specs --yes")).toMatchObject({ code: 0 });
      expect(await printed("get counter nobody")).toMatchObject({ code: 2 });
    },
    STARTS_MS,
  );
});
