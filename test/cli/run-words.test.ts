import { createColors } from "picocolors";
import { describe, expect, it } from "vitest";
import { adviceOn, type Situation } from "../../src/cli/runs/advice.ts";
import { answerExamples, wordAnswer } from "../../src/cli/runs/answers.ts";
import { nodeTable, type NodeStyle } from "../../src/cli/runs/node-table.ts";
import { runTable } from "../../src/cli/runs/table.ts";
import { visitsOf, visitsOfRun } from "../../src/cli/runs/visits.ts";
import { widthOf } from "../../src/model/text.ts";
import {
  RUN_REASONS,
  type JournalEntry,
  type JournalInput,
  type RunState,
  type RunSummary,
} from "../../src/model/run.ts";

const NOW = 1_000_000;
const PLAIN = createColors(false);

describe("the entries of nodes, as a journal tells of them", () => {
  it("are lost, aborted or open by how the run stands, where no line says how they ended", () => {
    const lines = journal(
      { event: "begun", kind: "shell", visit: 1, node: "tests", attempt: 1, at: 10 },
      { event: "begun", kind: "checkpoint", visit: 2, node: "ask", attempt: 1, at: 10 },
    );
    const states = (run: Pick<RunSummary, "state" | "endedAt">) =>
      visitsOfRun(lines, run).map(({ state, attempts }) => [state, attempts.at(-1)?.state]);
    const same = (...all: string[]) => all.map((state) => [state, state]);
    expect(states({ state: "running" })).toEqual(same("running", "waiting"));
    expect(states({ state: "interrupted" })).toEqual(same("lost", "waiting"));
    expect(states({ state: "failed", endedAt: 20 })).toEqual(same("aborted", "aborted"));
  });

  it("have their attempts, with the latest one's state", () => {
    const [tests] = visitsOf(
      journal(
        {
          event: "begun",
          kind: "shell",
          visit: 1,
          node: "tests",
          attempt: 1,
          at: 10,
          input: ["npm"],
        },
        {
          event: "failed",
          kind: "shell",
          visit: 1,
          node: "tests",
          attempt: 1,
          at: 20,
          startedAt: 10,
          error: { message: "exit code 1", reason: "Exit" },
          retryable: true,
        },
        { event: "begun", kind: "shell", visit: 1, node: "tests", attempt: 2, at: 30 },
        {
          event: "succeeded",
          kind: "shell",
          visit: 1,
          node: "tests",
          attempt: 2,
          at: 45,
          startedAt: 30,
          output: { ok: true },
        },
      ),
    );
    expect(tests).toMatchObject({
      node: "tests",
      state: "succeeded",
      startedAt: 10,
      endedAt: 45,
      attempts: [
        { attempt: 1, state: "failed", error: { message: "exit code 1" }, input: ["npm"] },
        { attempt: 2, state: "succeeded", output: { ok: true } },
      ],
    });
  });

  it("that a runner left behind are lost, but a question stays open", () => {
    const visits = visitsOf(
      journal(
        { event: "begun", kind: "action", visit: 1, node: "fetch", attempt: 1, at: 10 },
        { event: "begun", kind: "checkpoint", visit: 2, node: "ask", attempt: 1, at: 11 },
        { event: "recovered", at: 50 },
        { event: "begun", kind: "action", visit: 1, node: "fetch", attempt: 2, at: 51 },
      ),
    );
    expect(visits.map(({ node, state }) => [node, state])).toEqual([
      ["fetch", "running"],
      ["ask", "waiting"],
    ]);
    expect(visits[0]?.attempts.map(({ state }) => state)).toEqual(["lost", "running"]);
  });

  it("that can't be told stay so until a person has settled them", () => {
    const begun = { kind: "action", visit: 1, node: "deploy", attempt: 1 } as const;
    const lines: JournalInput[] = [
      { event: "begun", ...begun, at: 10 },
      { event: "recovered", at: 20 },
      { event: "ambiguous", ...begun, at: 21 },
    ];
    expect(visitsOf(journal(...lines))).toMatchObject([{ state: "ambiguous" }]);
    const settled = journal(...lines, {
      event: "succeeded",
      ...begun,
      at: 90,
      startedAt: 10,
      by: "ada",
    });
    expect(visitsOf(settled)).toMatchObject([
      { state: "succeeded", attempts: [{ state: "succeeded", by: "ada" }] },
    ]);
  });

  it("tell of a compensation beside the node that it undoes", () => {
    const node = { kind: "action", visit: 1, node: "create", attempt: 1 } as const;
    const [visit] = visitsOf(
      journal(
        { event: "succeeded", ...node, at: 20, startedAt: 10 },
        { event: "cancel", by: "ada", at: 30 },
        { event: "begun", ...node, compensation: true, at: 31 },
        { event: "succeeded", ...node, compensation: true, at: 40, startedAt: 31 },
      ),
    );
    expect(visit).toMatchObject({
      state: "succeeded",
      attempts: [{}],
      undone: [{ state: "succeeded" }],
    });
  });
});

describe("an answer that is typed as a word", () => {
  const yesNo = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
  it("is what the schema makes of it", () => {
    expect(wordAnswer("yes", { type: "boolean" })).toBe(true);
    expect(wordAnswer("No", yesNo)).toEqual({ ok: false });
    expect(wordAnswer("squash", { enum: ["merge", "squash"] })).toBe("squash");
    expect(wordAnswer("too early", { type: "string" })).toBe("too early");
    expect(
      wordAnswer("later", {
        type: "object",
        required: ["when"],
        properties: { when: { enum: ["now", "later"] }, note: { type: "string" } },
      }),
    ).toEqual({ when: "later" });
  });

  it("is nothing where it must be JSON", () => {
    expect(wordAnswer("maybe", yesNo)).toBeUndefined();
    expect(wordAnswer('{"ok": true}', yesNo)).toBeUndefined();
    expect(wordAnswer('"quoted"', { type: "string" })).toBeUndefined();
    expect(wordAnswer("yes", undefined)).toBeUndefined();
    expect(wordAnswer("yes", { ...yesNo, required: ["ok", "why"] })).toBeUndefined();
  });

  it("is shown by example, as a shell takes it", () => {
    expect(answerExamples(yesNo)).toEqual(["yes", "no"]);
    expect([answerExamples(undefined), answerExamples({})]).toEqual([[], []]);
    expect(answerExamples({ type: "integer", minimum: 1 })).toEqual(["1"]);
    expect(answerExamples({ enum: ["it's late", "merge"] })).toEqual([`'it'\\''s late'`, "merge"]);
    expect(
      answerExamples({
        type: "object",
        required: ["ok", "why"],
        properties: { ok: { type: "boolean" }, why: { type: "string" } },
      }),
    ).toEqual([`'{"ok":true,"why":"…"}'`]);
  });
});

describe("advice on a run", () => {
  const asks = {
    runId: RUN.runId,
    visit: 3,
    node: "ask",
    message: "Merge?",
    askedAt: NOW,
    schema: { type: "boolean" },
  };

  it.each(
    Object.entries(RUN_REASONS).flatMap(([state, reasons]) =>
      reasons.map((reason) => ({ state, reason })),
    ),
  )("names the command that helps: $reason", ({ state, reason }) => {
    const sentences = said({ state: state as RunState, reason, message: "no luck" });
    expect(sentences.join(" ")).toMatch(/`pi-workflows run (?:\w+ 89abcdef|start check-links)/);
  });

  it("is the question, and how it is answered", () => {
    expect(
      said({ state: "waiting", reason: "Checkpoint", node: "ask" }, { questions: [asks] }),
    ).toEqual([
      "ask asks: Merge?",
      "Answer with `pi-workflows run answer 89abcdef yes`, or with no.",
    ]);
    const two = [asks, { ...asks, node: "other", visit: 4 }];
    expect(said({ state: "waiting", reason: "Checkpoint" }, { questions: two })[3]).toContain(
      "`pi-workflows run answer 89abcdef --node other yes`",
    );
  });

  it("is a server, where none runs and something is to go on", () => {
    expect(said({ state: "pending" }, { serverRuns: false }).at(-1)).toContain(
      "No server is running",
    );
    const nodes = visitsOf(
      journal({ event: "begun", kind: "shell", visit: 1, node: "nap", attempt: 1, at: 1 }),
    );
    const left = { ...RUN, claimedAt: NOW };
    expect(said(left, { nodes, serverRuns: false })[0]).toBe(
      "It was at nap when its server ended.",
    );
    expect(said(left, { nodes })).toEqual(["It runs nap for 16m39s now."]);
    expect(said({ state: "waiting", reason: "Paused" }, { serverRuns: false })).toEqual([
      "It is paused: `pi-workflows run resume 89abcdef` lets it go on.",
    ]);
    expect(said({ state: "succeeded" }, { serverRuns: false })).toEqual([]);
  });

  it("is also how a run that is being cancelled gets on, where it waits for a person", () => {
    const stuck = { cancelling: true, state: "interrupted" } as const;
    for (const [reason, verb] of [
      ["Ambiguous", "resolve"],
      ["Stalled", "resume"],
    ] as const) {
      const sentences = said({ ...stuck, reason, node: "b" });
      expect(sentences[0]).toBe("It is being cancelled.");
      expect(sentences.join(" ")).toContain(`\`pi-workflows run ${verb} 89abcdef`);
    }
    const queue = { claimed: false, readyAt: NOW } as Situation["queue"] & {};
    expect(said({ ...stuck, reason: "Ambiguous" }, { queue })).toEqual(["It is being cancelled."]);
  });

  it("names which attempt, where several can't be told", () => {
    const nodes = visitsOf(
      journal(
        { event: "begun", kind: "action", visit: 1, node: "a", attempt: 1, at: 1 },
        { event: "ambiguous", kind: "action", visit: 1, node: "a", attempt: 1, at: 2 },
        { event: "begun", kind: "action", visit: 2, node: "b", attempt: 1, at: 1 },
        { event: "ambiguous", kind: "action", visit: 2, node: "b", attempt: 1, at: 2 },
      ),
    );
    const [sentence, look] = said({ state: "interrupted", reason: "Ambiguous" }, { nodes });
    expect(sentence).toContain("whether a, b was done");
    expect(look).toContain("`pi-workflows run resolve 89abcdef --visit 1 --succeeded`");
  });
});

describe("tables of runs and nodes", () => {
  it("fit into 80 columns, whatever a terminal would obey in their names", () => {
    const evil = { ...RUN, workflow: "evil\u001b[2J", node: "日本/ask\u202e" };
    const text = runTable([evil, RUN], { wide: false, projects: false, colors: PLAIN, now: NOW });
    expect(text).toContain("evil\\u001b[2J");
    expect(text).toContain("日本/ask\\u202e");
    for (const line of text.split("\n")) expect(widthOf(line)).toBeLessThanOrEqual(80);
  });

  it("show errors of each attempt under its node, who answered, and values on demand", () => {
    const nodes = visitsOf(
      journal(
        {
          event: "failed",
          kind: "shell",
          visit: 1,
          node: "tests",
          attempt: 1,
          at: 1_200,
          startedAt: 200,
          error: { message: "exit code 1", reason: "Exit" },
          retryable: true,
        },
        {
          event: "succeeded",
          kind: "shell",
          visit: 1,
          node: "tests",
          attempt: 2,
          at: 2_000,
          startedAt: 1_500,
          output: "fine",
        },
        {
          event: "succeeded",
          kind: "checkpoint",
          visit: 2,
          node: "ask",
          attempt: 1,
          at: 9_000,
          startedAt: 2_000,
          by: "ada",
          output: { ok: true },
        },
        {
          event: "succeeded",
          kind: "decision",
          visit: 3,
          node: "good",
          attempt: 1,
          at: 9_001,
          startedAt: 9_000,
          choice: "yes",
        },
        {
          event: "succeeded",
          kind: "result",
          visit: 4,
          node: "done",
          attempt: 1,
          at: 9_002,
          startedAt: 9_001,
        },
      ),
    );
    expect(nodeTable(nodes, NODE_STYLE)).toBe(
      [
        "NODE   KIND        STATE            STARTED  TOOK  TITLE",
        "tests  shell       succeeded        +200ms   1.8s",
        "    attempt 1 failed in 1s  Exit: exit code 1",
        "    attempt 2 succeeded in 500ms",
        "ask    checkpoint  succeeded        +2s      7s    Ask Ada",
        "    by ada",
        "good   decision    succeeded → yes  +9s      1ms",
      ].join("\n"),
    );
    const outputs = nodeTable(nodes, { ...NODE_STYLE, outputs: true });
    expect(outputs).toContain('    output {"ok":true}');
  });

  it("show where in the author's code an error was thrown, and so does what to do", () => {
    const stack = [
      "TypeError: no such thing",
      "    at parse (file:///opt/pi-workflows/dist/index.js:1:2)",
      "    at /p/node_modules/zod/index.js:3:4",
      "    at Object.run (/p/.pi/workflows/release.workflow.ts:4:12)",
      "    at act (/p/.pi/other.ts:9:9)",
    ].join("\n");
    const at = ".pi/workflows/release.workflow.ts:4:12";
    const nodes = visitsOf(
      journal({
        ...({ event: "failed", kind: "action", visit: 1, node: "a", attempt: 1 } as const),
        at: 1_200,
        startedAt: 200,
        retryable: false,
        error: { message: "no such thing", reason: "Thrown", stack },
      }),
    );
    expect(nodeTable(nodes, NODE_STYLE)).toContain(`Thrown: no such thing (${at})`);
    const failed = { state: "failed", reason: "NodeFailed", node: "a", project: "/p" } as const;
    const [sentence] = said({ ...failed, message: "a: no such thing" }, { nodes });
    expect(sentence).toBe(`a failed: no such thing (${at})`);
    const elsewhere = { ...NODE_STYLE, project: "/q" };
    expect(nodeTable(nodes, elsewhere)).toContain(`(/p/${at})`);
  });

  it("show the latest nodes of a long run, and say that there are more", () => {
    const many = Array.from({ length: 250 }, (_, index) => ({
      ...({ event: "succeeded", kind: "compute", visit: index + 1, node: `n${index}` } as const),
      attempt: 1,
      at: 1,
      startedAt: 0,
    }));
    const lines = nodeTable(visitsOf(journal(...many)), NODE_STYLE).split("\n");
    expect(lines[0]).toBe("50 earlier ones are left out; -o json has all");
    expect(lines.at(-1)).toMatch(/^n249 /);
  });
});

const RUN: RunSummary = {
  runId: "01890a5d-ac96-774b-bcce-b30289abcdef",
  project: "/p",
  workflow: "check-links",
  digest: "d".repeat(64),
  state: "running",
  attempt: 1,
  startedBy: "ada",
  cancelling: false,
  paused: false,
  epochs: 1,
  entries: 0,
  createdAt: NOW - 60_000,
  startedAt: NOW - 59_000,
  deadlineAt: NOW + 3_600_000,
};

const NODE_STYLE: NodeStyle = {
  inputs: false,
  outputs: false,
  colors: PLAIN,
  now: NOW,
  since: 0,
  titles: new Map([["ask", "Ask Ada"]]),
  project: "/p",
};

function said(run: Partial<RunSummary>, more: Partial<Situation> = {}): string[] {
  const situation = { questions: [], nodes: [], serverRuns: true, now: NOW, ...more };
  return adviceOn({ ...situation, run: { ...RUN, ...run } });
}

function journal(...lines: JournalInput[]): JournalEntry[] {
  return lines.map((line, index) => ({ ...line, sequence: index + 1, epoch: 1 }));
}
