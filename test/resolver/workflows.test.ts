import { symlinkSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { formatProblem } from "../../src/model/manifest.ts";
import type { Resolution, ResolveRequest } from "../../src/runner/resolver.ts";
import { verifyCommittedInputs, verifyInputs } from "../../src/sources/digest.ts";
import { makeRepository } from "../sources/git/repository.ts";
import {
  NOTE_DEFINITION,
  NOTE_FILE,
  tempProject,
  type TempProject,
} from "../sources/temp-project.ts";
import { keys, lines, loadSpecs } from "./loading.ts";

const FOLDER = ".pi/workflows";
/** Beside the folder of resource managers for every project that `loadSpecs` gives. */
const GLOBAL = "workflows";
const SPEC = JSON.stringify({ resourceManager: "note", key: "a", spec: { title: "t" } });

/** A workflow of one node that greets; `more` stands before it. */
function greeting(name: string, more = ""): string {
  return `
import { z } from "zod";
import { compute, defineWorkflow, end } from "@osolmaz/pi-workflows";
${more}
const greet = compute({ output: z.string(), run: () => "hello" });
export default defineWorkflow({
  name: "${name}",
  input: z.object({ name: z.string(), token: z.string().meta({ secret: true }).optional() }),
  output: z.object({ text: z.string() }),
  startAt: "greet",
  deadline: "5m",
  nodes: { greet },
  edges: { greet: end("done") },
  exits: { done: ({ output }) => ({ text: output(greet) }) },
});
`;
}

function load(project: TempProject, request: Partial<ResolveRequest> = {}): Promise<Resolution> {
  return loadSpecs(project, [], { workflows: "all", ...request }, { evaluateMs: 1_000 });
}

function problems({ workflowProblems }: Resolution): string[] {
  return workflowProblems.map(formatProblem).sort();
}

describe("a workflow as data", () => {
  it("says what the server needs to know", async () => {
    const file = `${FOLDER}/hello.workflow.ts`;
    const project = tempProject({
      [file]: greeting("hello", 'import "../../lib.ts";'),
      "lib.ts": "export {};",
    });
    const found = await load(project);
    expect([...lines(found), ...problems(found)]).toEqual([]);
    expect(found.workflows).toMatchObject([
      {
        name: "hello",
        path: project.path(file),
        scope: "project",
        digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
        inputs: [{ path: project.path(file) }, { path: project.path("lib.ts") }],
        inputSchema: { type: "object", required: ["name"] },
        outputSchema: { type: "object", required: ["text"] },
        secretPaths: ["token"],
        deadlineMs: 300_000,
        graph: {
          workflow: "hello",
          startAt: "greet",
          nodes: {
            greet: { kind: "compute", safety: "pure", outputSchema: { type: "string" } },
            "end:done": { kind: "result" },
          },
          edges: { greet: { next: { to: "end:done" } } },
        },
      },
    ]);
    expect(found.workflows[0]?.bundle).toContain("defineWorkflow");
  });

  it("has a digest over all local files", async () => {
    const project = tempProject({
      [`${FOLDER}/hello.workflow.ts`]: greeting("hello", 'import "../../lib.ts";'),
      "lib.ts": "export {};",
    });
    const digest = async () => (await load(project)).workflows[0]?.digest;
    const first = await digest();
    project.write("other.ts", "");
    expect(await digest()).toBe(first);
    project.write("lib.ts", "export {}; // changed");
    expect(await digest()).not.toBe(first);
  });

  it("may import the API by either name, and the one for resource managers", async () => {
    const project = tempProject({
      [`${FOLDER}/hello.workflow.ts`]: greeting(
        "hello",
        `import * as other from "@osolmaz/pi-workflows/workflows";
         import { TerminalError } from "@osolmaz/pi-workflows/resource-managers";
         if (other.defineWorkflow !== defineWorkflow || !TerminalError) throw new Error("two APIs");`,
      ),
    });
    const found = await load(project);
    expect(problems(found)).toEqual([]);
    expect(found.workflows).toHaveLength(1);
  });
});

describe("workflows are found", () => {
  it("in the project, which hides global ones, and by the user's files that are called so", async () => {
    const project = tempProject({
      [`${FOLDER}/hello.workflow.ts`]: greeting("hello"),
      [`${FOLDER}/notes.md`]: "",
      [`${FOLDER}/lib/inner.workflow.ts`]: "throw new Error();",
      [`${GLOBAL}/hello.workflow.ts`]: "throw new Error();",
      [`${GLOBAL}/wide.workflow.mts`]: greeting("wide"),
      [`${GLOBAL}/state.sqlite`]: "",
      [`${GLOBAL}/bundles/old.workflow.ts`]: "throw new Error();",
    });
    const found = await load(project);
    expect(problems(found)).toEqual([]);
    expect(found.workflows.map(({ name, scope }) => [name, scope])).toEqual([
      ["hello", "project"],
      ["wide", "global"],
    ]);
    expect(found.workflowFiles).toEqual([
      {
        name: "hello",
        path: project.path(`${FOLDER}/hello.workflow.ts`),
        scope: "project",
        shadowed: false,
      },
      {
        name: "wide",
        path: project.path(`${GLOBAL}/wide.workflow.mts`),
        scope: "global",
        shadowed: false,
      },
      {
        name: "hello",
        path: project.path(`${GLOBAL}/hello.workflow.ts`),
        scope: "global",
        shadowed: true,
      },
    ]);
  });

  it("by name or by file where only some are asked for", async () => {
    const project = tempProject({
      [`${FOLDER}/hello.workflow.ts`]: greeting("hello"),
      [`${FOLDER}/broken.workflow.ts`]: "const = 1;",
      "elsewhere/aside.workflow.ts": greeting("aside"),
    });
    const wanted = ["hello", project.path("elsewhere/aside.workflow.ts")];
    const found = await load(project, { workflows: wanted });
    expect(problems(found)).toEqual([]);
    expect(found.workflows.map(({ name }) => name)).toEqual(["hello", "aside"]);

    const missing = [project.path("gone.workflow.ts"), project.path("lib.ts"), "helo"];
    expect(problems(await load(project, { workflows: missing }))).toEqual([
      `${FOLDER}:1:1: no workflow is named "helo"; did you mean "hello"?`,
      `${project.path("lib.ts")}:1:1: the name of a workflow's file must end in .workflow.ts`,
      "gone.workflow.ts:1:1: the file does not exist",
    ]);
  });

  it("nowhere, where none are asked for", async () => {
    const project = tempProject({ [`${FOLDER}/broken.workflow.ts`]: "const = 1;" });
    const found = await load(project, { workflows: [] });
    expect([found.workflows, found.workflowFiles, found.workflowProblems]).toEqual([[], [], []]);
  });

  it("as a commit has them, with those of the user from disk", async () => {
    const repo = makeRepository();
    repo.write(`${FOLDER}/hello.workflow.ts`, greeting("hello", 'import "../../lib.ts";'));
    repo.write("lib.ts", "export {};");
    const commit = repo.commit("a workflow");
    repo.write(`${FOLDER}/hello.workflow.ts`, "throw new Error();");
    repo.write(`${FOLDER}/later.workflow.ts`, "throw new Error();");
    repo.write(`${FOLDER}/wide.workflow.ts`, "throw new Error();");
    const globalFolder = path.join(tempProject().root, "managers");
    const wide = path.join(path.dirname(globalFolder), "workflows/wide.workflow.ts");
    const user = tempProject();
    user.write(path.relative(user.root, wide), greeting("wide"));
    const project = { ...tempProject(), root: repo.folder };
    const revision = { gitDir: path.join(repo.folder, ".git"), commit };
    const found = await load(project, { revision, globalFolder });
    expect(problems(found)).toEqual([]);
    expect(found.workflows.map(({ name, revision: of }) => [name, of?.commit])).toEqual([
      ["hello", commit],
      ["wide", commit],
    ]);
    for (const proposal of found.workflows) {
      const proposed = { ...proposal, revision };
      await expect(
        verifyCommittedInputs(repo.folder, proposed, globalFolder),
      ).resolves.toBeUndefined();
    }
  });
});

describe("what is wrong with a workflow is told at its place", () => {
  it.each([
    ["a syntax error", "const = 1;", ':1:7: Expected identifier but found "="'],
    [
      "no export",
      "export {};",
      ":1:1: has no default export; write `export default defineWorkflow({ … })`",
    ],
    [
      "another export",
      "export default 5;",
      ":1:1: exports 5; write `export default defineWorkflow({ … })`",
    ],
    [
      "another name",
      greeting("hello"),
      ':7:3: name: must be "odd", as the file\'s name says, not "hello"',
    ],
    ["an error", 'void 0;\nthrow new Error("no luck");', ":2:7: Error: no luck"],
  ])("%s", async (_what, text, message) => {
    const found = await load(tempProject({ [`${FOLDER}/odd.workflow.ts`]: text }));
    expect(problems(found)).toEqual([`${FOLDER}/odd.workflow.ts${message}`]);
    expect(found.workflows).toEqual([]);
    expect(found.workflowProblems[0]?.frame).toContain(">");
  });

  it("two files of one name, a name that no lane can have, and links that lead out", async () => {
    const outside = tempProject({ "evil.workflow.ts": greeting("linked") });
    const project = tempProject({
      [`${FOLDER}/twice.workflow.ts`]: greeting("twice"),
      [`${FOLDER}/twice.workflow.mjs`]: "",
      [`${FOLDER}/Big Name.workflow.ts`]: greeting("big-name"),
      "lib/inside.ts": greeting("inside"),
    });
    symlinkSync(outside.path("evil.workflow.ts"), project.path(`${FOLDER}/linked.workflow.ts`));
    symlinkSync("../../lib/inside.ts", project.path(`${FOLDER}/inside.workflow.ts`));
    symlinkSync("nowhere.ts", project.path(`${FOLDER}/gone.workflow.ts`));
    const found = await load(project);
    expect(problems(found)).toEqual([
      `${FOLDER}/Big Name.workflow.ts:7:3: name: must be the file's name, which must be lower-case letters, digits and dashes, not "Big Name"`,
      `${FOLDER}/gone.workflow.ts:1:1: the file does not exist`,
      `${FOLDER}/linked.workflow.ts:1:1: the symbolic link leads out of the project, to ${outside.path("evil.workflow.ts")}`,
      `${FOLDER}/twice.workflow.mjs:1:1: twice.workflow.mjs and twice.workflow.ts define the same workflow; keep one`,
    ]);
    expect(found.workflows.map(({ name }) => name)).toEqual(["inside"]);
  });

  it("an import of a name that its module does not have, where it is imported", async () => {
    const text = greeting("odd", 'import { compute,\n  compte } from "@osolmaz/pi-workflows";');
    const found = await load(tempProject({ [`${FOLDER}/odd.workflow.ts`]: `${text}\ncompte();` }));
    expect(problems(found)).toEqual([
      expect.stringMatching(
        /^\.pi\/workflows\/odd\.workflow\.ts:\d+:3: @osolmaz\/pi-workflows has no export named compte$/,
      ),
    ]);
  });

  it("a node or an edge that does not hold, where it is made", async () => {
    const text = greeting("odd", "")
      .replace('run: () => "hello"', 'timeout: "soon" as never, run: () => "hello"')
      .replace('edges: { greet: end("done") }', 'edges: { greet:\n    end("dnoe" as never) }');
    const found = await load(tempProject({ [`${FOLDER}/odd.workflow.ts`]: text }));
    expect(problems(found)).toEqual([
      expect.stringMatching(/^\.pi\/workflows\/odd\.workflow\.ts:14:5: edges\.greet: .*dnoe/),
      expect.stringMatching(
        /^\.pi\/workflows\/odd\.workflow\.ts:5:45: nodes\.greet\.timeout: .*soon/,
      ),
    ]);
  });

  it("a name in an edge, and what is missing, where it is written or would be", async () => {
    const inner = greeting("odd").replace("export default", "const inner =");
    const text = `${inner}import { includeWorkflow } from "@osolmaz/pi-workflows/workflows";
export default defineWorkflow({
  name: "odd",
  input: z.object({}),
  output: z.null(),
  startAt: "again",
  nodes: {},
  includes: { again: includeWorkflow(inner, { input: () => ({ name: "x" }) }) },
  edges: {
    again: {
      done: "agian",
    },
  },
  exits: { done: () => null },
});
`.replace('edges: { greet: end("done") }', 'edges: { greet: "geret" }');
    const found = await load(tempProject({ [`${FOLDER}/odd.workflow.ts`]: text }));
    const at = `${FOLDER}/odd.workflow.ts`;
    expect(problems(found)).toEqual([
      `${at}:13:12: includes.again.edges.greet: there is no node "geret"; did you mean "greet"?`,
      `${at}:26:7: edges.again.done: there is no node "agian"; did you mean "again"?`,
    ]);
  });

  it("a choice without an edge, and one too many, at the edge of its decision", async () => {
    const text = `import { decision, defineWorkflow, end } from "@osolmaz/pi-workflows";
import { z } from "zod";
const judge = decision({ choices: ["yes", "no"], choose: () => "yes" });
export default defineWorkflow({
  name: "odd",
  input: z.object({}),
  output: z.null(),
  startAt: "judge",
  nodes: { judge },
  edges: {
    judge: { yes: end("done"),
      maybe: end("done") } as never,
  },
  exits: { done: () => null },
});
`;
    const found = await load(tempProject({ [`${FOLDER}/odd.workflow.ts`]: text }));
    const at = `${FOLDER}/odd.workflow.ts`;
    expect(problems(found)).toEqual([
      expect.stringMatching(`^${at}:11:5: edges.judge.no: is missing`),
      `${at}:12:7: edges.judge.maybe: judge has no choice "maybe"; there are: yes, no`,
    ]);
  });

  it("what the server would refuse, so that it refuses no spec along with it", async () => {
    const text = greeting("odd").replace("compute({", 'compute({ title: "x".repeat(5_000),');
    const found = await load(tempProject({ [`${FOLDER}/odd.workflow.ts`]: text }));
    expect(problems(found)).toEqual([
      expect.stringMatching(
        /^\.pi\/workflows\/odd\.workflow\.ts:12:12: nodes\.greet\.title: .*4096/,
      ),
    ]);
  });

  it("names the workflow where an imported file is at fault", async () => {
    const project = tempProject({
      [`${FOLDER}/hello.workflow.ts`]: greeting("hello", 'import "../../lib.ts";'),
      "lib.ts": "const = 1;",
    });
    expect((await load(project)).workflowProblems).toMatchObject([
      { file: "lib.ts", line: 1, column: 7, specFile: `${FOLDER}/hello.workflow.ts` },
    ]);
  });
});

describe("A-5: a workflow that its process does not survive spoils no spec", () => {
  const broken = {
    "an endless loop": "for (;;) {}",
    "an await that never ends": "await new Promise(() => undefined);",
    "the end of the process": 'process.kill(process.pid, "SIGKILL");',
    output: 'import { writeSync } from "node:fs";\nwriteSync(1, "raw");',
  };
  const messages = [
    "did not finish within 1 s; look for an endless loop",
    "TimeLimitExceeded: did not finish within 1 s; look for an endless loop, or an await that never ends",
    "ended the process that evaluates it (SIGKILL)",
    'wrote "raw" to the output of its process; spec files only return data',
  ];

  it.each(Object.entries(broken).map(([what, text], index) => [what, text, messages[index]]))(
    "%s",
    async (_what, text, message) => {
      const project = tempProject({
        [NOTE_FILE]: NOTE_DEFINITION,
        "a.resource.json": SPEC,
        [`${FOLDER}/bad.workflow.ts`]: `${text}\nexport default 1;`,
        [`${FOLDER}/good.workflow.ts`]: greeting("good"),
      });
      const found = await loadSpecs(
        project,
        ["a.resource.json"],
        { workflows: "all" },
        { evaluateMs: 1_000 },
      );
      expect(lines(found)).toEqual([]);
      expect(keys(found)).toEqual(["note a"]);
      expect(problems(found)).toEqual([`${FOLDER}/bad.workflow.ts:1:1: ${message}`]);
      expect(found.workflows.map(({ name }) => name)).toEqual(["good"]);
    },
  );

  it("also where there are so many that the rest is given up", async () => {
    const loop = "for (;;) {}";
    const names = ["a", "b", "c", "d", "e"];
    const project = tempProject({
      [NOTE_FILE]: NOTE_DEFINITION,
      "a.resource.json": SPEC,
      ...Object.fromEntries(names.map((name) => [`${FOLDER}/${name}.workflow.ts`, loop])),
    });
    const limits = { evaluateMs: 100 };
    const found = await loadSpecs(project, ["a.resource.json"], { workflows: "all" }, limits);
    expect(lines(found)).toEqual([]);
    expect(keys(found)).toEqual(["note a"]);
    const looped = "1:1: did not finish within 0.1 s; look for an endless loop";
    expect(problems(found)).toEqual([
      ".:1:1: no other workflow was loaded, because loading had to be given up",
      ...["a", "b", "c", "d"].map((name) => `${FOLDER}/${name}.workflow.ts:${looped}`),
    ]);
  });
});

describe("A-14: a workflow is accepted only as the disk has it", () => {
  it("not when it, what it imports, or what discovery says changed", async () => {
    const file = `${FOLDER}/hello.workflow.ts`;
    const text = greeting("hello", 'import "../../lib.ts";');
    const project = tempProject({ [file]: text, "lib.ts": "export {};" });
    const [proposal] = (await load(project)).workflows;
    if (proposal === undefined) throw new Error("the workflow was not loaded");
    const verify = () => verifyInputs(project.root, proposal, project.path("global"));
    const refused = expect.objectContaining({ code: "DEFINITION_CHANGED" }) as Error;
    expect(verify).not.toThrow();
    project.write("lib.ts", "export {}; //");
    expect(verify).toThrow(refused);
    project.write("lib.ts", "export {};");
    project.write(file, `${text}//`);
    expect(verify).toThrow(refused);
    project.write(file, text);
    expect(verify).not.toThrow();
    project.write(`${FOLDER}/hello.workflow.js`, "");
    expect(verify).toThrow(refused);
  });
});
