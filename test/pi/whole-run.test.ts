import path from "node:path";
import { describe, expect, it } from "vitest";
import type { StoredRun } from "../../src/model/run.ts";
import { textOf } from "../model-provider/stand-in.mjs";
import { PIS } from "./support/installed.ts";
import { setPiStage } from "./support/stage.ts";
import { reader, WHOLE_WORKFLOW } from "./support/whole-workflow.ts";

/** Those that an author writes. */
const KINDS = ["compute", "action", "shell", "agent", "decision", "checkpoint"];

type Shown = {
  run: StoredRun;
  nodes: { node: string; kind: string; state: string; attempts: { state: string }[] }[];
};

describe.each(PIS)("a workflow with every kind of node, and Pi $version", (pi) => {
  it("is checked, drawn, run, asked about and shown from the command line", async (test) => {
    const { stage, provider } = await setPiStage(test, pi);
    for (const [file, text] of Object.entries(WHOLE_WORKFLOW)) stage.write(file, text);
    stage.write("input.json", { file: "note.txt", lines: 3 });
    provider.answerBy(reader);
    expect(await stage.ok(["workflow", "validate"])).toMatch(/^send-note +project +17 +ok /m);
    const graph = await stage.ok(["workflow", "graph", "send-note"]);
    expect(graph).toContain("╠═ ▣ review  includes have it read");
    expect(graph).toContain("║  │  ▣ lint  includes lint");
    expect(graph).toContain("├─ more ↺ line, at most 5 times, then → end kept");

    const begun = await stage.run([
      "run",
      "start",
      "send-note",
      "--input",
      "@input.json",
      "--wait",
    ]);
    expect(begun.code).toBe(3);
    const id = /^send-note (\w{8}) started$/m.exec(begun.stderr)?.[1] ?? "";
    expect(begun.stdout).toContain('ask asks: Send it? 3 lines, stamped, "line 3" is short');
    expect(begun.stdout).toContain(`pi-workflows run answer ${id} yes`);
    expect(await stage.ok(["runs"])).toMatch(/waiting \(Checkpoint\) +ask /);
    await stage.ok(["run", "answer", id, "no"]);
    const again = await stage.ok(["run", "wait", id], 3);
    expect(again).toContain('Send it? 4 lines, stamped, "line 4" is short');
    await stage.ok(["run", "answer", id, "yes"]);
    expect(await stage.ok(["run", "wait", id])).toMatch(/succeeded in \S+ by exit sent/);

    const shown = await stage.json<Shown>(["run", "show", id]);
    const { run } = shown;
    const nodes = shown.nodes.filter(({ kind }) => KINDS.includes(kind));
    const summary = '4 lines, stamped, "line 4" is short';
    expect(run).toMatchObject({ state: "succeeded", output: { sent: true, summary } });
    expect(stage.read("outbox")).toBe(`${run.runId} ${summary}\n`);
    expect(stage.read("note.txt")).toBe("line 1\nline 2\nline 3\nline 4\n");
    expect(timesOf(nodes)).toEqual({
      names: 1,
      line: 4,
      write: 4,
      enough: 4,
      checks: 2,
      count: 2,
      stamp: 2,
      "review/lint/open": 2,
      "review/lint/state": 2,
      "review/opinion": 2,
      "review/good": 2,
      summary: 2,
      ask: 2,
      agreed: 2,
      more: 1,
      send: 1,
    });
    expect(nodes.every(({ state }) => state === "succeeded")).toBe(true);
    expect(new Set(nodes.map(({ kind }) => kind))).toEqual(new Set(KINDS));
    const stamp = nodes.find(({ node }) => node === "stamp");
    expect(stamp?.attempts.map(({ state }) => state)).toEqual(["failed", "succeeded"]);

    const log = await stage.ok(["run", "logs", id]);
    expect(log.match(/^line +writing \{"line":\d\}$/gm)).toHaveLength(4);
    // What an agent says stands together, though other nodes speak at the same time.
    const said = log.split("\n").filter((line) => line.startsWith("review/opinion"));
    const noteFile = path.join(stage.project, "note.txt");
    const words = said.map((line) => line.slice("review/opinion".length).trim());
    expect(words.slice(0, 6)).toEqual([
      `▶ Read ${noteFile}. What is wrong with it?`,
      `⚙ read {"path":${JSON.stringify(noteFile)}}`,
      "line 1",
      "line 2",
      "line 3",
      `⚙ submit_result {"result":{"findings":["\\"line 3\\" is short"]}}`,
    ]);
    // The agent was shown the file as the run had written it.
    const seen = provider.requests.map(({ body }) => textOf(body.messages.at(-1)));
    expect(seen).toContain("line 1\nline 2\nline 3\nline 4\n");
    await stage.stopServers();
  });
});

function timesOf(nodes: Shown["nodes"]): Record<string, number> {
  const times: Record<string, number> = {};
  for (const { node } of nodes) times[node] = (times[node] ?? 0) + 1;
  return times;
}
