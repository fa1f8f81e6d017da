import { mkdirSync, symlinkSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { LIMITS } from "../../src/model/limits.ts";
import { NOTE_DEFINITION, NOTE_FILE, tempProject } from "../sources/temp-project.ts";
import { keys, lines, loadSpecs } from "./loading.ts";

const note = (key: string, more: object = {}) => ({
  resourceManager: "note",
  key,
  spec: { title: "t" },
  ...more,
});

/** Loads `content` as a.resource.json beside a good file, which must not suffer. */
async function problemsOf(content: unknown) {
  const project = tempProject({
    [NOTE_FILE]: NOTE_DEFINITION,
    "a.resource.json": typeof content === "string" ? content : JSON.stringify(content),
    "good.resource.json": JSON.stringify(note("good")),
  });
  const found = await loadSpecs(project, ["a.resource.json", "good.resource.json"]);
  expect(keys(found)).toContain("note good");
  return lines(found).map((line) => line.replace("a.resource.json:", ""));
}

describe("JSON spec files", () => {
  it("become what a plan needs", async () => {
    const project = tempProject({
      [NOTE_FILE]: NOTE_DEFINITION,
      "a.resource.json": `[
  // one
  { "$schema": "x", "resourceManager": "note", "key": "a", "spec": { "title": "t" } },
  { "resourceManager": "note", "key": "b", "spec": { "count": 1.0, "title": "é", "level": "high" },
    "labels": { "team": "x" }, "dependsOn": ["note/a"], "prune": false, "suspend": true },
]`,
    });
    const { desired, problems, files } = await loadSpecs(project, ["a.resource.json"]);
    expect(problems).toEqual([]);
    expect(files).toHaveLength(1);
    expect(desired).toMatchObject([
      {
        key: "a",
        spec: '{"level":"low","title":"t"}',
        labels: {},
        dependsOn: [],
        place: { line: 3, column: 3 },
      },
      {
        key: "b",
        spec: '{"count":1,"level":"high","title":"é"}',
        labels: { team: "x" },
        dependsOn: ["note/a"],
        prune: false,
        suspend: true,
        place: { file: "a.resource.json", line: 4, column: 3 },
      },
    ]);
    expect(desired[0]).not.toHaveProperty("prune");
  });

  it("A-9: key order, white space, number spelling, comments and line ends make no difference", async () => {
    const project = tempProject({
      [NOTE_FILE]: NOTE_DEFINITION,
      "a.resource.json": '{"resourceManager":"note","key":"k","spec":{"title":"t","count":10}}',
      "b.resource.json":
        '\uFEFF{\r\n  "key": "k", // same\r\n  "spec": { "count": 1.0e1, "title": "\\u0074", },\r\n  "resourceManager": "note"\r\n}\r\n',
      "c.resource.ts":
        'export default { key: "k", resourceManager: "note", spec: { title: "t", level: undefined, count: 10 } };',
    });
    const { desired, problems } = await loadSpecs(project, [
      "a.resource.json",
      "b.resource.json",
      "c.resource.ts",
    ]);
    expect(problems).toEqual([]);
    expect(new Set(desired.map(({ specHash }) => specHash)).size).toBe(1);
  });

  it("A-7: of one identity twice are both returned, each with its place, for the plan to refuse", async () => {
    const project = tempProject({
      [NOTE_FILE]: NOTE_DEFINITION,
      "a.resource.json": JSON.stringify([note("k"), note("k")]),
      "b.resource.json": JSON.stringify(note("k")),
    });
    const found = await loadSpecs(project, ["a.resource.json", "b.resource.json"]);
    expect(found.desired.map(({ place }) => `${place.file}:${place.column}`).sort()).toEqual([
      "a.resource.json:2",
      "a.resource.json:60",
      "b.resource.json:1",
    ]);
  });

  it("may come as text, such as standard input", async () => {
    const project = tempProject({ [NOTE_FILE]: NOTE_DEFINITION });
    const inline = [
      { name: "<stdin>", text: JSON.stringify(note("k")) },
      {
        name: "<other>",
        text: '{\n "resourceManager": "note", "key": "l", "spec": { "title": 1 } }',
      },
    ];
    const found = await loadSpecs(project, [], { inline });
    expect(keys(found)).toEqual(["note k"]);
    expect(lines(found)).toEqual(["<other>:2:60: spec.title: must be a string, not 1"]);
    expect(found.problems[0]?.frame).toContain('> 2 |  "resourceManager"');
  });
});

describe("a manifest that is wrong is told where, what is wrong and what is allowed", () => {
  it.each<[string, unknown, string[]]>([
    [
      "all its own members at once",
      { resourceManager: "Note", spec: {}, key: " k", lables: {}, prune: "no" },
      [
        "1:20: resourceManager: must be lower-case letters, digits and dashes",
        "1:43: key: must not begin or end with white space",
        '1:48: lables: unknown field; did you mean "labels"?',
        '1:68: prune: must be a boolean, not "no"',
      ],
    ],
    [
      "what is missing",
      {},
      [
        "1:1: key: is missing; must be a string",
        "1:1: resourceManager: is missing; must be a string",
        "1:1: spec: is missing",
      ],
    ],
    ["a text", '"note"', ['1:1: must be an object, not "note"']],
    ["null", "null", ["1:1: must be an object, not null"]],
    ["an array in an array", [[]], ["1:2: must be an object, not an array"]],
    [
      "an unknown manager",
      note("k", { resourceManager: "notes" }),
      ['1:20: resourceManager: no resource manager is named "notes"; did you mean "note"?'],
    ],
    [
      "its spec, all at once",
      note("k", { spec: { titel: "x", level: "hihg", count: 1.5, token: null } }),
      [
        "1:44: spec.title: is missing; must be a string",
        '1:45: spec.titel: unknown field; did you mean "title"?',
        '1:65: spec.level: must be one of "low", "high", not "hihg"; did you mean "high"?',
        "1:80: spec.count: must be a whole number, not 1.5",
        "1:92: spec.token: must be a string, not null",
      ],
    ],
    [
      "lengths",
      note("k", { spec: { title: "" } }),
      ["1:53: spec.title: must have at least 1 characters"],
    ],
    ["a spec that is none", note("k", { spec: 3 }), ["1:44: spec: must be an object, not 3"]],
    [
      "a key past its limit",
      note("k".repeat(LIMITS.key + 1)),
      [`1:33: key: must have at most ${LIMITS.key} characters`],
    ],
  ])("%s", async (_name, content, problems) => {
    expect(await problemsOf(content)).toEqual(problems);
  });

  it("a key at its limit is taken", async () => {
    expect(await problemsOf(note("k".repeat(LIMITS.key)))).toEqual([]);
  });

  it("with the lines around the place", async () => {
    const project = tempProject({
      [NOTE_FILE]: NOTE_DEFINITION,
      "a.resource.json":
        '{\r\n  "resourceManager": "note",\r\n  "key": "k",\r\n  "spec": { "title": 3 }\r\n}\r\n',
    });
    const { problems } = await loadSpecs(project, ["a.resource.json"]);
    expect(problems[0]?.frame).toBe(
      [
        '  2 |   "resourceManager": "note",',
        '  3 |   "key": "k",',
        '> 4 |   "spec": { "title": 3 }',
        "    |                      ^",
        "  5 | }",
        "  6 |",
      ].join("\n"),
    );
  });
});

describe("a file that can't be read is a problem of its own", () => {
  it("missing, a folder, or a link that leads back to itself", async () => {
    const project = tempProject({
      [NOTE_FILE]: NOTE_DEFINITION,
      "good.resource.json": JSON.stringify(note("good")),
    });
    mkdirSync(project.path("folder.resource.json"));
    symlinkSync("loop.resource.json", project.path("loop.resource.json"));
    const files = ["gone", "folder", "loop", "good"].map((name) => `${name}.resource.json`);
    const found = await loadSpecs(project, files);
    expect(lines(found)).toEqual([
      "folder.resource.json:1:1: this is a folder, not a file",
      "gone.resource.json:1:1: the file does not exist",
      "loop.resource.json:1:1: the symbolic link leads back to itself",
    ]);
    expect(keys(found)).toEqual(["note good"]);
  });

  it("also of TypeScript", async () => {
    const project = tempProject({
      [NOTE_FILE]: NOTE_DEFINITION,
      "good.resource.json": JSON.stringify(note("good")),
    });
    mkdirSync(project.path("folder.resource.ts"));
    const found = await loadSpecs(project, [
      "gone.resource.ts",
      "folder.resource.ts",
      "good.resource.json",
    ]);
    expect(lines(found)).toEqual([
      "folder.resource.ts:1:1: this is a folder, not a file",
      "gone.resource.ts:1:1: the file does not exist",
    ]);
    expect(keys(found)).toEqual(["note good"]);
  });

  it("a TypeScript file that is not UTF-8 is refused", async () => {
    const project = tempProject({
      "a.resource.ts": Buffer.from('export default "\xff";', "latin1"),
    });
    expect(lines(await loadSpecs(project, ["a.resource.ts"]))).toEqual([
      "a.resource.ts:1:1: the file is not UTF-8 text; save it as UTF-8",
    ]);
  });
});
