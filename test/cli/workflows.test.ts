import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { candidatesFor } from "../../src/cli/completion.ts";
import { GLOBAL_FLAGS } from "../../src/cli/program.ts";
import { VERBS } from "../../src/cli/verbs.ts";
import { buildCommandLine, makeWorkspace, writeCounters } from "./command-line.ts";

beforeAll(buildCommandLine);

const FOLDER = ".pi/workflows";

/** A workflow that asks again until it is content, at most three times. */
const HELLO = `
import { z } from "zod";
import { compute, decision, defineWorkflow, end, loop } from "@osolmaz/pi-workflows";
const greet = compute({ output: z.string(), run: () => "hello" });
const good = decision({ choices: ["yes", "no"], choose: () => "yes" });
export default defineWorkflow({
  name: "hello", input: z.object({}), output: z.string(), deadline: "5m",
  startAt: "greet", nodes: { greet, good },
  edges: {
    greet: "good",
    good: { yes: end("done"), no: loop("greet", { max: 3, exhausted: end("done") }) },
  },
  exits: { done: ({ output }) => output(greet) },
});
`;
const BROKEN = "const = 1;\n";
const PROBLEM = `${FOLDER}/broken.workflow.ts:1:7: Expected identifier but found "="`;

describe("workflows", () => {
  const workspace = makeWorkspace();
  const { ok, json, run, write, project } = workspace;

  it("where there is none says where they belong", async () => {
    expect(await run(["workflows"])).toMatchObject({
      code: 0,
      stdout: "",
      stderr: "There is no workflow yet; add .pi/workflows/NAME.workflow.ts.\n",
    });
  });

  it("lists them with what is wrong, and global ones that the project hides", async () => {
    write(`${FOLDER}/hello.workflow.ts`, HELLO);
    write(`${FOLDER}/broken.workflow.ts`, BROKEN);
    write("../.pi/agent/workflows/hello.workflow.ts", "throw new Error();");
    write("../.pi/agent/workflows/state.sqlite", "");
    const user = path.resolve(project, "../.pi/agent/workflows/hello.workflow.ts");
    const { stdout, code } = await run(["workflows"]);
    expect(code).toBe(0);
    expect(stdout.split("\n")).toEqual([
      "WORKFLOW  SCOPE    NODES  STATE                    FILE",
      `broken    project         1 problem                ${FOLDER}/broken.workflow.ts`,
      `hello     project  2      ok                       ${FOLDER}/hello.workflow.ts`,
      `hello     global          hidden by the project's  ${user}`,
      "",
      PROBLEM,
      "",
    ]);
    expect(await json(["workflows"])).toMatchObject({
      workflows: [
        { name: "broken", problems: [{ line: 1, column: 7 }] },
        { name: "hello", scope: "project", shadowed: false, nodes: 2, deadlineMs: 300_000 },
        { name: "hello", scope: "global", shadowed: true, path: user, problems: [] },
      ],
      problems: [],
    });
  });

  it("are validated by name and by file, each problem with its lines", async () => {
    expect(await ok(["workflow", "validate", "hello"])).toContain("ok");
    await ok(["workflow", "validate", "hello.workflow.ts"], { cwd: path.join(project, FOLDER) });
    const { code, stderr, stdout } = await run(["workflow", "validate"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(`${PROBLEM}\n`);
    expect(stderr).toContain("> 1 | const = 1;");
    expect(stderr).toContain("error[INVALID_DEFINITION]: workflows have 1 problem\n");

    write(
      "aside/loop.workflow.ts",
      HELLO.replace('"hello", input', '"loop", input').replace(
        'loop("greet", { max: 3, exhausted: end("done") })',
        '"greet"',
      ),
    );
    const loop = await run(["workflow", "validate", "aside/loop.workflow.ts"]);
    expect(loop.code).toBe(2);
    expect(loop.stderr).toMatch(/^aside\/loop\.workflow\.ts:\d+:\d+: edges\.good\.no: /);

    expect(await run(["workflow", "validate", "helo"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        'no workflow is named "helo"; did you mean "hello"?',
      ) as string,
    });
  });

  it("that is broken does not keep specs from being applied, and is told", async () => {
    writeCounters(workspace, ["a"]);
    const { code, stdout, stderr } = await run(["apply", "-f", "specs"]);
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("created") as string,
    });
    expect(stderr).toContain(PROBLEM);
    expect(stderr).toContain("specs are not affected");
    expect(await json(["apply", "-f", "specs"])).toMatchObject({
      actions: [{ kind: "unchanged" }],
      workflowProblems: [{ file: `${FOLDER}/broken.workflow.ts` }],
    });
    const diff = await run(["diff", "-f", "specs"]);
    expect(diff).toMatchObject({ code: 0, stderr: expect.stringContaining("broken") as string });
  });

  it("are completed by name", async () => {
    const found = candidatesFor(VERBS, GLOBAL_FLAGS, ["workflow", "graph", ""]);
    expect(found).toEqual({ kind: "lookup", what: "workflow" });
    expect(await ok(["__complete", "--", "workflow", "graph", ""])).toBe("broken\t\nhello\t\n");
  });
});

describe("workflow graph", () => {
  const { json, ok, run, write } = makeWorkspace();

  it("is drawn for a terminal, and as a Mermaid diagram", async () => {
    write(`${FOLDER}/hello.workflow.ts`, HELLO);
    write("hello/notes.txt", "a folder of its name is not meant\n");
    expect((await ok(["workflow", "graph", "hello"])).split("\n")).toEqual([
      "hello",
      "",
      "● greet  compute",
      "│",
      "◆ good  decision",
      "├─ yes → end done",
      "╰─ no ↺ greet, at most 3 times, then → end done",
      "",
    ]);
    const file = `${FOLDER}/hello.workflow.ts`;
    const mermaid = await ok(["workflow", "graph", file, "-o", "mermaid"]);
    expect(mermaid).toMatch(/^flowchart TD\n/);
    expect(mermaid).toContain('-->|"yes"|');
  });

  it("is data with -o json", async () => {
    expect(await json(["workflow", "graph", "hello"])).toMatchObject({
      workflow: "hello",
      startAt: "greet",
      edges: {
        greet: { next: { to: "good" } },
        good: { cases: { no: { to: "greet", loop: { max: 3, exhausted: "end:done" } } } },
      },
    });
  });

  it("of a workflow with problems is refused with them", async () => {
    write(`${FOLDER}/broken.workflow.ts`, BROKEN);
    const { code, stderr } = await run(["workflow", "graph", "broken"]);
    expect(code).toBe(2);
    expect(stderr).toContain(PROBLEM);
    const unknown = await run(["workflow", "graph", "nope"]);
    expect(unknown).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        'error[UNKNOWN_WORKFLOW]: no workflow is named "nope"; there are: broken, hello\n',
      ) as string,
    });
  });
});
