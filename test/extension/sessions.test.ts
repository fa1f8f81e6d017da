import { writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { TRIED_PIS } from "../pi/support/installed.ts";
import { useModelProvider } from "../pi/support/machine.ts";
import type { PiRecord, PiRpc } from "../pi/support/rpc.ts";
import { writeCounter, writeGate } from "./support/counter.ts";
import { buildExtension, setStage, status, type } from "./support/stage.ts";

beforeAll(() => buildExtension());

// Pi has no `/reload` in RPC mode, but lets extensions ask for what it does.
const RELOADER = `export default (pi) => {
  pi.registerCommand("reload-all", { handler: async (_line, ctx) => ctx.reload() });
};`;

const noticesOf = (records: readonly PiRecord[]) =>
  records
    .filter(({ type: kind }) => kind === "message_end")
    .map(({ message }) => message as { customType?: string; content: string })
    .filter(({ customType }) => customType === "pi-workflows")
    .map(({ content }) => content);
const errorsOf = ({ records }: PiRpc) =>
  records.filter((record) => record.type === "extension_error");

describe.each(TRIED_PIS)("a session of Pi $version", (pi) => {
  it("is reloaded in the middle of requests: it works on, and tells nothing twice", async (test) => {
    const { url } = await useModelProvider(test);
    const stage = setStage(test, { pi, modelUrl: url });
    writeCounter(stage, "a", 1);
    const reloader = path.join(stage.machine.root, "reloader.ts");
    writeFileSync(reloader, RELOADER);
    const session = await stage.open({ args: ["-e", reloader] });
    await type(session, "/resource-manager apply specs");
    const isTold = (record: PiRecord) => noticesOf([record]).length > 0;
    await session.until(isTold);

    for (let round = 0; round < 3; round += 1) {
      const from = session.records.length;
      session.write({ type: "prompt", message: "/resource-manager describe counter a" });
      await session.call({ type: "prompt", message: "/reload-all" });
      await status(session, "1 ready", from);
      expect(await type(session, "/resource-manager list")).toContain("counter  a");
    }
    writeCounter(stage, "b", 1);
    const from = session.records.length;
    await type(session, "/resource-manager apply specs");
    await session.until(isTold, from);
    expect(noticesOf(session.records).map((text) => text.split(" is")[0])).toEqual([
      "counter a",
      "counter b",
    ]);
    expect(errorsOf(session)).toEqual([]);
    expect(await session.close()).toBe(0);
  });

  it("is forked: the fork works, knows what was told, and is told what is new", async (test) => {
    const { url } = await useModelProvider(test);
    const stage = setStage(test, { pi, modelUrl: url });
    writeGate(stage);
    const file = path.join(stage.machine.root, "session.jsonl");
    const session = await stage.open({ keepSession: true, args: ["--session", file] });
    const open = async (key: string) => {
      writeFileSync(path.join(stage.machine.root, key), "");
      await stage.cli("reconcile", "gate", key);
    };
    const spec = JSON.stringify({ folder: stage.machine.root });
    await session.prompt("hello");
    await type(session, `/resource-manager apply gate one ${spec}`);
    await type(session, `/resource-manager apply gate two ${spec}`);
    await open("one");
    await session.until((record) => noticesOf([record]).length > 0);
    await session.prompt("and on");

    const from = session.records.length;
    const { messages } = (await session.call({ type: "get_fork_messages" })) as {
      messages: { entryId: string }[];
    };
    const { entryId } = messages.at(-1) as { entryId: string };
    await session.call({ type: "fork", entryId });
    await status(session, "1 ready · 1 reconciling", from);
    await open("two");
    await session.until((record) => noticesOf([record]).length > 0, from);
    expect(noticesOf(session.records.slice(from))).toEqual(["gate two is ready (Opened)"]);
    expect(await type(session, "/resource-manager list")).toContain("gate     two");
    expect(errorsOf(session)).toEqual([]);
    expect(await session.close()).toBe(0);
  });
});
