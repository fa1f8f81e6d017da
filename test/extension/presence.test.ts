import { writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { TRIED_PIS } from "../pi/support/installed.ts";
import { useModelProvider } from "../pi/support/machine.ts";
import type { PiRecord, PiRpc } from "../pi/support/rpc.ts";
import { decides, writeGate } from "./support/counter.ts";
import { buildExtension, setStage, status, type, type Stage } from "./support/stage.ts";

beforeAll(() => buildExtension());

const spec = (stage: Stage, more = "") => `{"folder": "${stage.machine.root}"${more}}`;

/** Makes a gate ready, and has it looked at where it is there already. */
async function openGate(stage: Stage, key: string): Promise<void> {
  writeFileSync(path.join(stage.machine.root, key), "");
  await stage.cli("reconcile", "gate", key);
}

function widget(session: PiRpc, lines: RegExp | undefined, from = 0): Promise<PiRecord> {
  return session.until(({ method, widgetLines }) => {
    if (method !== "setWidget") return false;
    return lines ? lines.test(String(widgetLines)) : widgetLines === undefined;
  }, from);
}

const isNotice = ({ type: kind, message }: PiRecord) =>
  kind === "message_end" && (message as { customType?: string }).customType === "pi-workflows";
const notices = (session: PiRpc) =>
  session.records.filter(isNotice).map(({ message }) => (message as { content: string }).content);

describe.each(TRIED_PIS)("what Pi $version shows beside the conversation", (pi) => {
  it("follows the server: what waits, what needs attention, what is ready", async (test) => {
    const stage = setStage(test, { pi });
    writeGate(stage);
    const session = await stage.open({ person: decides(true) });
    await type(session, `/resource-manager apply gate waits ${spec(stage)}`);
    await type(session, `/resource-manager apply gate stuck ${spec(stage, ', "blocked": true')}`);
    await status(session, "1 reconciling · 1 needs attention");
    await widget(session, /!.*gate stuck.*Shut: its file is not there,….*gate waits/);

    await openGate(stage, "waits");
    await status(session, "1 ready · 1 needs attention");
    const from = session.records.length;
    await stage.cli("delete", "gate", "stuck", "--yes");
    await status(session, "1 ready", from);
    expect(await widget(session, undefined, from)).toBeDefined();
  });

  it("tells what became of what the session applied: once, and also what happened meanwhile", async (test) => {
    const { url } = await useModelProvider(test);
    const stage = setStage(test, { pi, modelUrl: url });
    writeGate(stage);
    const file = path.join(stage.machine.root, "session.jsonl");
    const reopen = () => stage.open({ keepSession: true, args: ["--session", file] });

    const first = await reopen();
    // Pi keeps a session in its file from the model's first answer on.
    await first.prompt("hello");
    await type(first, `/resource-manager apply gate later ${spec(stage)}`);
    await type(first, `/resource-manager apply gate gone ${spec(stage)}`);
    await status(first, "2 reconciling");
    expect(await first.close()).toBe(0);
    expect(notices(first)).toEqual([]);

    await openGate(stage, "later");
    await stage.cli("wait", "gate", "later");
    await stage.cli("delete", "gate", "gone", "--yes");

    const second = await reopen();
    await second.until(isNotice);
    expect(notices(second)).toEqual(["gate later is ready (Opened)\ngate gone is deleted"]);
    expect(await second.close()).toBe(0);

    const third = await reopen();
    await openGate(stage, "new");
    await type(third, `/resource-manager apply gate new ${spec(stage)}`);
    await third.until(isNotice);
    expect(notices(third)).toEqual(["gate new is ready (Opened)"]);
  });

  it("is off where the user wants it so", async (test) => {
    const settings = { "pi-workflows": { statusLine: false, widget: false, notices: false } };
    const stage = setStage(test, { pi, settings });
    writeGate(stage);
    const session = await stage.open();
    await type(session, `/resource-manager apply gate waits ${spec(stage)}`);
    await openGate(stage, "waits");
    await stage.cli("wait", "gate", "waits");
    expect(await type(session, "/resource-manager list")).toContain("Opened");
    expect(await session.close()).toBe(0);
    const shown = session.records.filter(({ method }) =>
      ["setStatus", "setWidget"].includes(String(method)),
    );
    expect(shown).toEqual([]);
    expect(notices(session)).toEqual([]);
  });
});
