import { describe, expect, it } from "vitest";
import { LIMITS } from "../../src/model/limits.ts";
import { installedModules } from "../../src/sources/installed.ts";
import { NOTE_DEFINITION, NOTE_FILE, tempProject } from "../sources/temp-project.ts";
import { keys, lines, loadSpecs } from "./loading.ts";

const IMPORTS = `import { defineResource } from "@osolmaz/pi-workflows/resource-managers";
import note from "../resource-managers/note.resource-manager.ts";
`;
const spec = (key: string, extra = "") =>
  `${IMPORTS}${extra}export default defineResource(note, { key: "${key}", spec: { title: "${key}" } });\n`;

/** A project with the note definition and spec files under .pi/resources. */
function project(specs: Record<string, string>) {
  const made = tempProject({ [NOTE_FILE]: NOTE_DEFINITION });
  for (const [name, text] of Object.entries(specs)) made.write(`.pi/resources/${name}`, text);
  return { ...made, files: Object.keys(specs).map((name) => `.pi/resources/${name}`) };
}

async function load(specs: Record<string, string>, limits = {}) {
  const made = project(specs);
  return loadSpecs(made, made.files, {}, limits);
}

describe("TypeScript spec files", () => {
  it("export a manifest, an array, or a promise of one", async () => {
    const found = await load({
      "one.resource.ts": spec("one"),
      "many.resource.ts": `${IMPORTS}export default ["a", "b"].map((key) =>
  defineResource(note, { key, spec: { title: key } }));`,
      "later.resource.ts": `${IMPORTS}await Promise.resolve();
export default Promise.resolve(defineResource(note, { key: "later", spec: { title: "x" } }));`,
      "plain.resource.ts": `export default { resourceManager: "note", key: "plain", spec: { title: "x" } };`,
      "empty.resource.ts": `export default [];`,
    });
    expect(lines(found)).toEqual([]);
    expect(keys(found)).toEqual(["note a", "note b", "note later", "note one", "note plain"]);
  });

  it("get the schema's defaults, a status, and the line of their declaration", async () => {
    const found = await load({ "one.resource.ts": `// first\n${spec("one")}` });
    expect(found.desired).toEqual([
      {
        resourceManager: "note",
        key: "one",
        spec: '{"level":"low","title":"one"}',
        specHash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
        initialStatus: '{"phase":"new","title":"one"}',
        labels: {},
        dependsOn: [],
        place: { file: ".pi/resources/one.resource.ts", line: 4, column: 16 },
      },
    ]);
  });

  it("share helper modules, whose bytes count as read", async () => {
    const made = project({
      "a.resource.ts": spec("a", 'import { x } from "../../lib/x.ts";\nvoid x;\n'),
      "b.resource.ts": spec("b", 'import data from "../../lib/data.json";\nvoid data;\n'),
    });
    made.write("lib/x.ts", "export const x = 1;");
    made.write("lib/data.json", "{}");
    const found = await loadSpecs(made, made.files);
    expect(lines(found)).toEqual([]);
    expect(found.files.map(({ file }) => file).sort()).toEqual([
      NOTE_FILE,
      ".pi/resources/a.resource.ts",
      ".pi/resources/b.resource.ts",
      "lib/data.json",
      "lib/x.ts",
    ]);
  });

  it("may begin with a byte order mark and have CRLF line ends", async () => {
    const found = await load({ "a.resource.ts": `\uFEFF${spec("a").replaceAll("\n", "\r\n")}` });
    expect(lines(found)).toEqual([]);
    expect(found.desired[0]?.place.line).toBe(3);
  });

  it("use packages of the project, and are told to install what is missing", async () => {
    const made = project({
      "a.resource.ts": `import { title } from "titles";\n${spec("a", "void title;\n")}`,
      "b.resource.ts": `import x from "absent/deep";\n${spec("b", "void x;\n")}`,
      "c.resource.ts": `import x from "title";\n${spec("c", "void x;\n")}`,
    });
    made.write("node_modules/titles/package.json", '{ "type": "module", "exports": "./t.js" }');
    made.write("node_modules/titles/t.js", 'export const title = "t";');
    const found = await loadSpecs(made, made.files);
    expect(keys(found)).toEqual(["note a"]);
    expect(lines(found)).toEqual([
      ".pi/resources/b.resource.ts:1:15: can't find the package absent; install it in the project: npm install absent",
      '.pi/resources/c.resource.ts:1:15: can\'t find the package title; did you mean "titles"?',
    ]);
  });
});

describe("a TypeScript spec file that is wrong leaves the others alone", () => {
  const WRONG: [string, string, string][] = [
    ["a syntax error", "export default {\n  a: 1;\n};", '2:7: Expected "}" but found ";"'],
    [
      "a git conflict",
      `<<<<<<< HEAD\n${spec("x")}=======\n>>>>>>> x\n`,
      "1:1: the file holds a git conflict marker; resolve the merge conflict first",
    ],
    [
      "a missing file",
      `import x from "./gone.ts";\nexport default x;`,
      `1:15: can't find "./gone.ts"; check the path of the import`,
    ],
    [
      "a module that this product does not have",
      `import x from "@osolmaz/pi-workflows/nope";\nexport default x;`,
      `1:15: @osolmaz/pi-workflows/nope does not exist; there are: ${[...installedModules().keys()].join(", ")}`,
    ],
    [
      "a module of this product that is mistyped",
      `import x from "@osolmaz/pi-workflows/workflow";\nexport default x;`,
      '1:15: @osolmaz/pi-workflows/workflow does not exist; did you mean "@osolmaz/pi-workflows/workflows"?',
    ],
    [
      "this product mistyped",
      `import x from "@osolmaz/pi-workflow/workflows";\nexport default x;`,
      '1:15: can\'t find the package @osolmaz/pi-workflow; did you mean "@osolmaz/pi-workflows"?',
    ],
    [
      "a missing export of this product",
      `import {\n  defineResource,\n  defineResuorce,\n} from "@osolmaz/pi-workflows/resource-managers";\nexport default [defineResource, defineResuorce];`,
      "3:3: @osolmaz/pi-workflows/resource-managers has no export named defineResuorce",
    ],
    [
      "a missing export",
      `import { nope } from "../resource-managers/note.resource-manager.ts";\nexport default nope;`,
      "1:10: .pi/resource-managers/note.resource-manager.ts has no export named nope",
    ],
    [
      "a thrown error",
      `${IMPORTS}\nthrow new RangeError("boom");\nexport default [];`,
      "4:7: RangeError: boom",
    ],
    ["a thrown string", `throw "boom";\nexport default [];`, "1:1: boom"],
    [
      "no default export",
      `export const a = 1;`,
      "1:1: has no default export; write `export default defineResource(…)`",
    ],
    [
      "a function",
      `export default () => [];`,
      "1:1: exports a function; export the manifest, or an array, that it returns",
    ],
    [
      "a number",
      `export default 3;`,
      "1:1: must export a manifest or an array of manifests, not 3",
    ],
    [
      "null in an array",
      `export default [null];`,
      "1:1: must export a manifest or an array of manifests, not null",
    ],
    [
      "output",
      `${spec("x")}\nconsole.log("hello");`,
      '5:9: wrote "hello" to standard output; spec files only return data',
    ],
    [
      "error output",
      `${spec("x")}process.stderr.write("oh");`,
      '4:16: wrote "oh" to standard error; spec files only return data',
    ],
    [
      "process.exit",
      `${spec("x")}process.exit(0);`,
      "4:9: called process.exit(); spec files only return data",
    ],
    [
      "process.exit, caught",
      `${spec("x")}try { process.exit(0); } catch {}`,
      "4:15: called process.exit(); spec files only return data",
    ],
    [
      "a rejection",
      `${spec("x")}void Promise.reject(new Error("lost"));`,
      "4:21: left a rejected promise unhandled: Error: lost",
    ],
    [
      "an await without end",
      `await new Promise(() => {});\nexport default [];`,
      "1:1: TimeLimitExceeded: did not finish within 1 s; look for an endless loop, or an await that never ends",
    ],
    [
      "a function in a spec",
      `export default { resourceManager: "bare", key: "k", spec: { a: [() => 1] } };`,
      "1:1: spec.a[0]: is function, which JSON can't hold",
    ],
    [
      "a schema mismatch",
      `${IMPORTS}export default defineResource(note, { key: "k", spec: { title: 3 as never } });`,
      "3:16: spec.title: must be a string, not 3",
    ],
  ];

  it("whatever is wrong with it", async () => {
    const texts = WRONG.map(([, text], index): [string, string] => [`${index}.resource.ts`, text]);
    const made = project({ ...Object.fromEntries(texts), "good.resource.ts": spec("good") });
    made.write(
      ".pi/resource-managers/bare.resource-manager.ts",
      `import { defineResourceManager } from "@osolmaz/pi-workflows/resource-managers";
export default defineResourceManager({ name: "bare", initialStatus: () => ({}), reconcile: (ctx) => ctx.settled() });`,
    );
    const found = await loadSpecs(made, made.files, {}, { evaluateMs: 1_000 });
    const told = lines(found).map((line) => line.replace(".pi/resources/", ""));
    expect(told).toEqual(
      WRONG.map(([, , problem], index) => `${index}.resource.ts:${problem}`).sort(),
    );
    expect(keys(found)).toEqual(["note good"]);
  });

  it("places an error that a helper throws where it is thrown, and names the spec file", async () => {
    const made = project({
      "a.resource.ts": spec("a", 'import { check } from "../../lib/check.ts";\ncheck(1);\n'),
      "good.resource.ts": spec("good"),
    });
    made.write(
      "lib/check.ts",
      '\nexport function check(n: number) {\n  if (n) throw new Error("no");\n}',
    );
    const found = await loadSpecs(made, made.files);
    expect(found.problems).toMatchObject([
      {
        file: "lib/check.ts",
        line: 3,
        column: 16,
        message: "Error: no",
        specFile: ".pi/resources/a.resource.ts",
      },
    ]);
    expect(found.problems[0]?.frame).toContain("> 3 |   if (n) throw");
    expect(keys(found)).toEqual(["note good"]);
  });

  it("a helper with an error fails every file that imports it, and no other", async () => {
    const made = project({
      "a.resource.ts": spec("a", 'import "../../lib/via.ts";\n'),
      "b.resource.ts": spec("b", 'import "../../lib/broken.ts";\n'),
      "good.resource.ts": spec("good"),
    });
    made.write("lib/via.ts", 'import "./broken.ts";');
    made.write("lib/broken.ts", "const = 1;");
    const found = await loadSpecs(made, made.files);
    expect(lines(found)).toEqual([
      ".pi/resources/b.resource.ts:1:1: can't be loaded, because lib/broken.ts has an error",
      'lib/broken.ts:1:7: Expected identifier but found "="',
    ]);
    expect(found.problems[0]?.specFile).toBe(".pi/resources/a.resource.ts");
    expect(keys(found)).toEqual(["note good"]);
  });

  it("a package that throws as it loads fails only the files that import it", async () => {
    const made = project({
      "a.resource.ts": spec("a", 'import "angry";\n'),
      "b.resource.ts": spec("b", 'import { nope } from "calm";\nvoid nope;\n'),
      "c.resource.ts": spec("c", 'import { yes } from "calm";\nvoid yes;\n'),
      "good.resource.ts": spec("good"),
    });
    made.write("node_modules/angry/index.mjs", 'throw new Error("grr");');
    made.write("node_modules/angry/package.json", '{ "exports": "./index.mjs" }');
    made.write("node_modules/calm/index.mjs", "export const yes = 1;");
    made.write("node_modules/calm/package.json", '{ "exports": "./index.mjs" }');
    const found = await loadSpecs(made, made.files);
    expect(keys(found)).toEqual(["note c", "note good"]);
    expect(lines(found)).toEqual([
      ".pi/resources/a.resource.ts:1:1: a package that it imports can't be loaded: grr",
      expect.stringContaining(
        ".pi/resources/b.resource.ts:1:1: a package that it imports can't be loaded:",
      ),
    ]);
  });

  it("an oversized one is refused, one at the limit is not", async () => {
    const fill = (size: number) => spec("x").padEnd(size - 2, " ") + "//";
    const found = await load({
      "fits.resource.ts": fill(LIMITS.manifestFile),
      "large.resource.ts": fill(LIMITS.manifestFile + 1),
    });
    expect(lines(found)).toEqual([
      `.pi/resources/large.resource.ts:1:1: the file has ${LIMITS.manifestFile + 1} bytes; at most ${LIMITS.manifestFile} are allowed`,
    ]);
    expect(keys(found)).toEqual(["note x"]);
  });
});
