import { beforeAll, describe, expect, it } from "vitest";
import { NEWEST_PI, TRIED_PIS } from "../pi/support/installed.ts";
import { useModelProvider } from "../pi/support/machine.ts";
import type { PiRecord, PiRpc } from "../pi/support/rpc.ts";
import { buildExtension, said, setStage, type, type Stage } from "./support/stage.ts";

beforeAll(() => buildExtension());

const RELEASE = `
import { checkpoint, compute, defineWorkflow, end } from "@osolmaz/pi-workflows";
import { z } from "zod";
const ask = checkpoint({ message: () => "Release it?", answer: z.object({ ok: z.boolean() }) });
const said = compute({ run: ({ output }) => (output(ask).ok ? "released" : "kept") });
export default defineWorkflow({
  name: "release",
  input: z.object({ version: z.string() }),
  output: z.string(),
  startAt: "ask",
  nodes: { ask, said },
  edges: { ask: "said", said: end("done") },
  exits: { done: ({ output }) => output(said) },
});
`;

function stageWithWorkflow(...args: Parameters<typeof setStage>): Stage {
  const stage = setStage(...args);
  stage.write(".pi/workflows/release.workflow.ts", RELEASE);
  return stage;
}

const start = async (session: PiRpc): Promise<string> => {
  const text = await type(session, '/workflow start release {"version": "1.2"}');
  expect(text).toMatch(/release .* started/);
  return /started\. See it with \/workflow show (\S+)/.exec(text)?.[1] as string;
};
const dialog = (session: PiRpc, from = 0): Promise<PiRecord> =>
  session.until(({ method }) => method === "select", from);

describe.each(TRIED_PIS)("/workflow in Pi $version", (pi) => {
  it("starts a run, asks its question in this session, and shows what became of it", async (test) => {
    const stage = stageWithWorkflow(test, { pi });
    const session = await stage.open();
    const other = await stage.open();
    expect(await type(session, "/workflow list")).toContain("release");
    const run = await start(session);
    const asked = await dialog(session);
    expect(asked).toMatchObject({ title: "ask asks: Release it?\nok", options: ["Yes", "No"] });
    expect(await type(session, "/workflow runs --open")).toMatch(/release +waiting \(Checkpoint\)/);
    session.write({ type: "extension_ui_response", id: asked["id"], value: "Yes" });
    await session.until(({ message }) => message === "ask is answered; the run goes on.");
    await stage.cli("run", "wait", run);
    expect(await type(session, `/workflow show ${run}`)).toContain("released");
    expect(await type(session, "/workflow runs")).toMatch(/release +succeeded/);
    expect(other.records.filter(({ method }) => method === "select")).toEqual([]);
  });

  it("lets the first answer win: a dialog whose question was answered elsewhere goes away", async (test) => {
    const stage = stageWithWorkflow(test, { pi });
    const session = await stage.open();
    const run = await start(session);
    const asked = await dialog(session);
    expect(await stage.cli("run", "answer", run, "no")).toMatchObject({ code: 0 });
    await session.until(({ message }) => message === "ask was answered elsewhere.");
    session.write({ type: "extension_ui_response", id: asked["id"], value: "Yes" });
    await stage.cli("run", "wait", run);
    expect(await type(session, `/workflow show ${run}`)).toContain("kept");
  });

  it("answers later, pauses, resumes and cancels", async (test) => {
    const stage = stageWithWorkflow(test, { pi });
    const session = await stage.open({
      person: ({ method }) => {
        if (method === "select") return { cancelled: true };
        return method === "confirm" ? { confirmed: true } : undefined;
      },
    });
    const first = await start(session);
    await session.until(({ message }) => String(message).includes(`/workflow answer ${first}`));
    expect(await type(session, `/workflow pause ${first}`)).toMatch(/paused/i);
    expect(await type(session, `/workflow resume ${first}`)).not.toContain("error");
    expect(await type(session, `/workflow answer ${first} yes`)).not.toContain("pi-workflows:");
    await stage.cli("run", "wait", first);
    expect(await type(session, `/workflow show ${first}`)).toContain("released");

    const second = await start(session);
    await type(session, `/workflow cancel ${second}`);
    await stage.cli("run", "wait", second);
    expect(await type(session, "/workflow runs")).toMatch(/failed \(Cancelled\)/);
    expect(await type(session, `/workflow answer ${second}`)).toContain("asks nothing");
  });
});

describe("a question", () => {
  it("that was left open is asked when the session is opened again", async (test) => {
    const { url } = await useModelProvider(test);
    const stage = stageWithWorkflow(test, { pi: NEWEST_PI, modelUrl: url });
    const reopen = () =>
      stage.open({ keepSession: true, args: ["--session-id", "of-the-release"] });
    const first = await reopen();
    await first.prompt("hello");
    await start(first);
    await dialog(first);
    expect(await first.close()).toBe(0);
    const second = await reopen();
    expect((await dialog(second))["title"]).toContain("Release it?");
    expect(await second.close()).toBe(0);
  });

  it("is answered by the model only after the user has agreed", async (test) => {
    const { url } = await useModelProvider(test);
    const stage = stageWithWorkflow(test, { pi: NEWEST_PI, modelUrl: url });
    const answers = [false, true];
    const session = await stage.open({
      person: ({ method }) =>
        method === "confirm" ? { confirmed: answers.shift() === true } : undefined,
    });
    const call = async (parameters: object) => {
      const records = await session.prompt(`call:workflow_runs ${JSON.stringify(parameters)}`);
      return JSON.stringify(records.find(({ type: kind }) => kind === "tool_execution_end"));
    };
    const started = await call({ action: "start", workflow: "release", input: '{"version": "1"}' });
    const run = /Run (\S+) started/.exec(started)?.[1] as string;
    await dialog(session);
    expect(await call({ action: "list" })).toContain("waiting (Checkpoint)");
    expect(await call({ action: "show", run })).toContain("Release it?");
    const answer = { action: "answer", run, answer: '{"ok": true}' };
    expect(await call(answer)).toContain("The user declined; the run still waits");
    await call(answer);
    await stage.cli("run", "wait", run);
    expect(await call({ action: "show", run })).toContain("released");
    expect(said(session.records)).toContain("ask was answered elsewhere.");
  });
});
