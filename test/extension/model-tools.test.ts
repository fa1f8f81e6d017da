import { beforeAll, describe, expect, it } from "vitest";
import { NEWEST_PI, TRIED_PIS } from "../pi/support/installed.ts";
import { useModelProvider } from "../pi/support/machine.ts";
import type { PiRpc } from "../pi/support/rpc.ts";
import { decides, SECRET, writeCounter } from "./support/counter.ts";
import { buildExtension, dialogs, setStage, said, status } from "./support/stage.ts";

beforeAll(() => buildExtension());

/** Lets the model call a tool, and gives what the tool told it. */
async function call(session: PiRpc, name: string, parameters: object) {
  const records = await session.prompt(`call:${name} ${JSON.stringify(parameters)}`);
  const ended = records.find(({ type }) => type === "tool_execution_end");
  const result = ended?.["result"] as { content: { text: string }[] } | undefined;
  return { text: result?.content[0]?.text ?? "", isError: ended?.["isError"], records };
}

describe.each(TRIED_PIS)("the tool resources in Pi $version", (pi) => {
  it("reads, and applies only what the user has confirmed", async (test) => {
    const { url } = await useModelProvider(test);
    const stage = setStage(test, { pi, modelUrl: url });
    writeCounter(stage, "a", 1);
    const session = await stage.open({ person: decides(false, true) });
    const resources = (parameters: object) => call(session, "resources", parameters);

    expect((await resources({ action: "list" })).text).toContain("There are no resources");
    expect((await resources({ action: "diff", path: "specs" })).text).toContain(
      "+ create counter a",
    );
    const declined = await resources({ action: "apply", path: "specs" });
    expect(declined.text).toContain("The user declined; nothing was applied");
    expect(dialogs(declined.records)).toMatchObject([
      {
        title: "The model wants to apply this plan",
        message: expect.stringMatching(/\+ create counter a[\s\S]*1 to create/),
      },
    ]);
    expect((await resources({ action: "list" })).text).toContain("There are no resources");

    expect((await resources({ action: "apply", path: "specs" })).text).toContain(
      "created counter a",
    );
    await status(session, "1 ready");
    const got = await resources({ action: "get", manager: "counter", key: "a" });
    expect(got.text).toContain('"value": 1');
    expect(got.text).not.toContain(SECRET);
    const explained = await resources({ action: "explain", manager: "counter", key: "a" });
    expect(explained.text).toContain("Nothing is left to do");
    expect((await resources({ action: "reconcile", manager: "counter", key: "a" })).text).toContain(
      "looked at now",
    );
    expect(await resources({ action: "get", manager: "counter", key: "b" })).toMatchObject({
      isError: true,
      text: expect.stringContaining("there is no resource counter b"),
    });
    expect(await resources({ action: "get", manager: "counter" })).toMatchObject({
      isError: true,
      text: expect.stringContaining("get needs key"),
    });
  });

  it("is told what became of what it applied, without being asked to go on", async (test) => {
    const provider = await useModelProvider(test);
    const stage = setStage(test, { pi, modelUrl: provider.url });
    writeCounter(stage, "a", 1);
    const session = await stage.open({ person: decides(true) });
    await call(session, "resources", { action: "apply", path: "specs" });
    const before = provider.requests.length;
    await session.until(
      ({ type, message }) =>
        type === "message_end" && JSON.stringify(message).includes("counter a is ready"),
    );
    await session.prompt("and now?");
    expect(provider.requests.length).toBe(before + 1);
    expect(JSON.stringify(provider.requests.at(-1)?.body.messages)).toContain("counter a is ready");
  });
});

const ALLOWED = '{ "pi-workflows": { "applyWithoutConfirmation": true } }';

describe("what a project allows the model", () => {
  it("is as its settings were when the session began: the model can't allow itself", async (test) => {
    const { url } = await useModelProvider(test);
    const stage = setStage(test, {
      pi: NEWEST_PI,
      modelUrl: url,
      settings: { defaultProjectTrust: "always" },
    });
    writeCounter(stage, "a", 1);
    const session = await stage.open();
    stage.write(".pi/settings.json", ALLOWED);
    const asked = session.prompt('call:resources {"action":"apply","path":"specs"}');
    const dialog = await session.until(({ method }) => method === "confirm");
    session.write({ type: "extension_ui_response", id: dialog["id"], confirmed: false });
    await asked;

    const next = await stage.open();
    const applied = await call(next, "resources", { action: "apply", path: "specs" });
    expect(dialogs(applied.records)).toEqual([]);
    expect(applied.text).toContain("created counter a");
  });

  it("is nothing in a project that is not trusted, and a wrong file is told once", async (test) => {
    const { url } = await useModelProvider(test);
    const stage = setStage(test, {
      pi: NEWEST_PI,
      modelUrl: url,
      settings: { defaultProjectTrust: "never" },
    });
    writeCounter(stage, "a", 1);
    stage.write(".pi/settings.json", ALLOWED);
    const session = await stage.open({ person: decides(false) });
    const asked = await call(session, "resources", { action: "apply", path: "specs" });
    expect(asked.text).toContain("The user declined");

    const trusting = await stage.open({ args: ["--approve"] });
    stage.write(".pi/settings.json", '{ "pi-workflows": { "widgets": false } }');
    const wrong = await stage.open({ args: ["--approve"] });
    expect(said(trusting.records)).toEqual([
      "pi-workflows: the model may apply specs without asking you, as .pi/settings.json says.",
    ]);
    expect(
      said(wrong.records).filter((text) => text.includes("widgets is not known")),
    ).toHaveLength(1);
  });

  it("is nothing where nobody can be asked", async (test) => {
    const { url } = await useModelProvider(test);
    const stage = setStage(test, { pi: NEWEST_PI, modelUrl: url });
    writeCounter(stage, "a", 1);
    const printed = await stage.runPi("-p", 'call:resources {"action":"apply","path":"specs"}');
    expect(printed.stdout).toContain("The model may not apply specs without the user");
    expect((await stage.cli("get")).stdout).toBe("");
  });
});
