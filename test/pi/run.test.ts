import { symlinkSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import type { StoredRun } from "../../src/model/run.ts";
import { textOf, type Rule } from "../model-provider/stand-in.mjs";
import { submits } from "./support/agents.ts";
import { PIS } from "./support/installed.ts";
import { setPiStage } from "./support/stage.ts";

const WORKFLOW = `
import { agent, compute, decision, defineWorkflow, end } from "@osolmaz/pi-workflows";
import { z } from "zod";

const opinion = agent({
  prompt: ({ input }) => \`What do you think of \${input.file}?\`,
  output: z.object({ findings: z.array(z.string()) }),
  conversation: "review",
});
const count = compute({ output: z.number(), run: ({ output }) => output(opinion).findings.length });

export default defineWorkflow({
  name: "review-file",
  input: z.object({ file: z.string() }),
  output: z.object({ findings: z.number() }),
  startAt: "opinion",
  deadline: "10m",
  nodes: {
    opinion,
    count,
    good: decision({
      choices: ["yes", "no"],
      prompt: () => "Is it good enough?",
      conversation: "review",
    }),
  },
  edges: { opinion: "count", count: "good", good: { yes: end("accepted"), no: end("rejected") } },
  exits: {
    accepted: ({ output }) => ({ findings: output(count) }),
    rejected: ({ output }) => ({ findings: output(count) }),
  },
});
`;

/** Reads the file, finds one thing, and is content. */
const reviewer: Rule = ({ messages }) => {
  const last = messages.at(-1);
  if (last?.role === "tool") return submits({ findings: [textOf(last)] });
  if (textOf(last).includes("good enough")) return submits({ choice: "yes", reason: "fine" });
  return { calls: [{ name: "read", arguments: { path: "notes.txt" } }] };
};

describe.each(PIS)("a workflow whose agent is Pi $version", (pi) => {
  it("runs from the command line to its end, and shows what the agent did", async (test) => {
    const { stage, provider } = await setPiStage(test, pi);
    symlinkSync(path.resolve("node_modules"), path.join(stage.project, "node_modules"));
    stage.write(".pi/workflows/review-file.workflow.ts", WORKFLOW);
    stage.write("notes.txt", "all is well\n");
    provider.answerBy(reviewer);

    const input = JSON.stringify({ file: "notes.txt" });
    const start = ["run", "start", "review-file", "--input", input, "--wait"];
    const { run } = await stage.json<{ run: StoredRun }>(start);

    expect(run).toMatchObject({ state: "succeeded", exit: "accepted", output: { findings: 1 } });
    const log = await stage.ok(["run", "logs", run.runId]);
    expect(log).toContain("What do you think of notes.txt?");
    expect(log).toContain('read {"path":"notes.txt"}');
    // Both questions were one conversation, with one Pi.
    const said = provider.requests.at(-1)?.body.messages.map(textOf).join("\n");
    expect(said).toContain("What do you think of notes.txt?");
    await stage.stopServers();
  });
});
