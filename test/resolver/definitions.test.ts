import { symlinkSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { LIMITS } from "../../src/model/limits.ts";
import type { TempProject } from "../sources/temp-project.ts";
import { NOTE_DEFINITION, NOTE_FILE, tempProject } from "../sources/temp-project.ts";
import { digestOf, verifyInputs } from "../../src/sources/digest.ts";
import { installedModules } from "../../src/sources/installed.ts";
import { keys, lines, loadSpecs } from "./loading.ts";

const FOLDER = ".pi/resource-managers";
const IMPORT =
  'import { defineResourceManager, every } from "@osolmaz/pi-workflows/resource-managers";\nvoid every;\n';
const define = (fields: string) =>
  `${IMPORT}export default defineResourceManager({ initialStatus: () => ({}), reconcile: (ctx) => ctx.settled(), ${fields} });\n`;

/** Resolves every definition of a project. */
async function resolveAll(project: TempProject) {
  return loadSpecs(project, [], { managers: "all" });
}

describe("a definition as data", () => {
  it("says what the server needs to know", async () => {
    const project = tempProject({
      [NOTE_FILE]: NOTE_DEFINITION.replace(
        "initialStatus:",
        'status: z.object({ phase: z.string() }), maxConcurrent: 2, deadlineMs: 5_000, sources: [{ kind: "every", everyMs: 60_000 }], initialStatus:',
      ),
    });
    const found = await resolveAll(project);
    expect(lines(found)).toEqual([]);
    expect(found.managers).toMatchObject([
      {
        name: "note",
        path: project.path(NOTE_FILE),
        scope: "project",
        inputs: [
          {
            path: project.path(NOTE_FILE),
            sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
          },
        ],
        specSchema: {
          type: "object",
          required: ["title"],
          properties: { level: { enum: ["low", "high"], default: "low" } },
        },
        statusSchema: { type: "object" },
        secretPaths: ["token"],
        sources: [{ kind: "every", everyMs: 60_000 }],
        deadlineMs: 5_000,
        maxConcurrent: 2,
      },
    ]);
  });

  it("names its sources without their functions", async () => {
    const project = tempProject({
      [`${FOLDER}/woken.resource-manager.js`]: define(
        `name: "woken", sources: [
          sources.every("5m"), sources.cron("0 3 * * *", "Europe/Berlin"),
          sources.files(["docs/**", "*.md"], (paths) => paths), sources.watch("other"),
          sources.webhook("github", () => [], { deliveryHeader: "X-Id" })]`,
      )
        .replace("{ defineResourceManager, every }", "* as sources")
        .replace("defineResourceManager({", "sources.defineResourceManager({")
        .replace("void every;", ""),
    });
    const found = await resolveAll(project);
    expect(lines(found)).toEqual([]);
    expect(found.managers[0]?.sources).toEqual([
      { kind: "every", everyMs: 300_000 },
      { kind: "cron", expression: "0 3 * * *", timezone: "Europe/Berlin" },
      { kind: "files", globs: ["docs/**", "*.md"], mapped: true },
      { kind: "watch", manager: "other", mapped: false },
      { kind: "webhook", name: "github", deliveryHeader: "x-id" },
    ]);
  });

  it.each([
    ['cron("61 * * * *")', 'cron("61 * * * *"): Invalid value for minute: 61'],
    ['cron("0 9 * * *", "Mars/Phobos")', 'cron("0 9 * * *"): unknown time zone Mars/Phobos'],
    ['files("../x")', 'files("../x"): must be relative to the project, and lie in it'],
    ['webhook("GitHub", () => [])', "name: must be lower-case letters, digits and dashes"],
    ['webhook("github")', "webhook(…) needs a function that maps"],
    ['watch("other", "keys")', "map: must be a function"],
  ])("a source that is none, %s, is a problem at its own place", async (source, message) => {
    const [name = ""] = source.split("(");
    const text = [
      `import { defineResourceManager, ${name} } from "@osolmaz/pi-workflows/resource-managers";`,
      "const source =",
      `  ${source};`,
      "export default defineResourceManager({",
      '  name: "woken", initialStatus: () => ({}), reconcile: (ctx) => ctx.settled(),',
      "  sources: [source] });",
    ];
    const file = `${FOLDER}/woken.resource-manager.js`;
    const found = await resolveAll(tempProject({ [file]: text.join("\n") }));
    expect(lines(found)).toEqual([`${file}:3:3: sources[0]: ${message}`]);
  });

  it("may ask for the longest deadline and the most passes at once", async () => {
    const most = `deadlineMs: ${LIMITS.maxDeadlineMs}, maxConcurrent: ${LIMITS.maxConcurrent}`;
    const found = await resolveAll(
      tempProject({ [`${FOLDER}/most.resource-manager.js`]: define(`name: "most", ${most}`) }),
    );
    expect(lines(found)).toEqual([]);
    expect(found.managers).toMatchObject([
      { deadlineMs: LIMITS.maxDeadlineMs, maxConcurrent: LIMITS.maxConcurrent },
    ]);
  });

  it("has the limits' defaults", async () => {
    const found = await resolveAll(
      tempProject({ [`${FOLDER}/bare.resource-manager.js`]: define('name: "bare"') }),
    );
    expect(found.managers).toMatchObject([
      {
        deadlineMs: LIMITS.deadlineMs,
        maxConcurrent: LIMITS.concurrencyPerManager,
        sources: [],
        secretPaths: [],
      },
    ]);
    expect(found.managers[0]).not.toHaveProperty("specSchema");
  });

  it("is loaded only where a spec or the caller names it", async () => {
    const project = tempProject({
      [NOTE_FILE]: NOTE_DEFINITION,
      [`${FOLDER}/broken.resource-manager.ts`]: "const = 1;",
      "a.resource.json": '{ "resourceManager": "note", "key": "k", "spec": { "title": "t" } }',
    });
    expect((await loadSpecs(project, [])).managers).toEqual([]);
    const found = await loadSpecs(project, ["a.resource.json"]);
    expect(found.managers.map(({ name }) => name)).toEqual(["note"]);
    expect(found.problems).toEqual([]);
    const named = await loadSpecs(project, [], { managers: ["broken", "nope"] });
    expect(lines(named)).toEqual([
      `${FOLDER}/broken.resource-manager.ts:1:7: Expected identifier but found "="`,
      `${FOLDER}:1:1: no resource manager is named "nope"; did you mean "note"?`,
    ]);
  });

  it("of the project hides a global one of its name", async () => {
    const project = tempProject({
      [NOTE_FILE]: NOTE_DEFINITION,
      "global/note.resource-manager.ts": "never read",
      "global/other.resource-manager.mjs": define('name: "other"'),
    });
    const found = await resolveAll(project);
    expect(lines(found)).toEqual([]);
    expect(found.managers.map(({ name, scope }) => `${scope} ${name}`).sort()).toEqual([
      "global other",
      "project note",
    ]);
  });

  it("may take a JSON Schema, from a file too", async () => {
    const project = tempProject({
      [`${FOLDER}/j.resource-manager.ts`]: `import schema from "../../schema.json";\n${define('name: "j", spec: schema')}`,
      "schema.json": JSON.stringify({
        $schema: "http://json-schema.org/draft-07/schema#",
        type: "object",
        properties: {
          mode: { enum: ["a", "b"], default: "a" },
          n: { type: "integer", minimum: 1 },
          when: { type: "string", format: "date" },
          users: {
            type: "array",
            items: {
              type: "object",
              properties: { password: { type: "string", writeOnly: true } },
            },
          },
          env: { type: "object", additionalProperties: { type: "string", format: "password" } },
        },
        required: ["n"],
        additionalProperties: false,
      }),
      "a.resource.json":
        '[\n{ "resourceManager": "j", "key": "ok", "spec": { "n": 1 } },\n{ "resourceManager": "j", "key": "bad", "spec": { "mode": "c", "n": 0.5, "when": "x", "mod": 1 } },\n{ "resourceManager": "j", "key": "worse", "spec": {} } ]',
    });
    const found = await loadSpecs(project, ["a.resource.json"]);
    expect(found.desired.map(({ spec }) => spec)).toEqual(['{"mode":"a","n":1}']);
    expect(found.managers[0]?.secretPaths).toEqual(["env.*", "users[].password"]);
    expect(lines(found)).toEqual([
      'a.resource.json:3:59: spec.mode: must be one of "a", "b", not "c"',
      "a.resource.json:3:69: spec.n: must be >= 1",
      "a.resource.json:3:69: spec.n: must be a whole number, not 0.5",
      "a.resource.json:3:82: spec.when: must be a valid date",
      'a.resource.json:3:87: spec.mod: unknown field; did you mean "mode"?',
      "a.resource.json:4:51: spec.n: is missing",
    ]);
  });

  it("may use another zod than this installation's, down to version 3's interface", async () => {
    const project = tempProject({
      [`${FOLDER}/z.resource-manager.mjs`]: `import { z } from "zod";\n${define('name: "z", spec: z')}`,
      "node_modules/zod/package.json": '{ "type": "module", "exports": "./z.js" }',
      "node_modules/zod/z.js": `export const z = { safeParse: (value) => value.ok
  ? { success: true, data: { ...value, from: "project" } }
  : { success: false, error: { issues: [{ code: "invalid_type", expected: "boolean", received: "undefined", path: ["ok"], message: "Required" }] } } };`,
      "a.resource.json":
        '[{ "resourceManager": "z", "key": "a", "spec": { "ok": true } }, { "resourceManager": "z", "key": "b", "spec": {} }]',
    });
    const found = await loadSpecs(project, ["a.resource.json"]);
    expect(found.desired.map(({ spec }) => spec)).toEqual(['{"from":"project","ok":true}']);
    expect(lines(found)).toEqual(["a.resource.json:1:112: spec.ok: Required"]);
  });

  it("may refine asynchronously", async () => {
    const project = tempProject({
      [`${FOLDER}/z.resource-manager.ts`]: `import { z } from "zod";\n${define('name: "z", spec: z.object({ n: z.number().refine(async (n) => n > 1, "must exceed 1") })')}`,
      "a.resource.json":
        '[{ "resourceManager": "z", "key": "a", "spec": { "n": 2 } }, { "resourceManager": "z", "key": "b", "spec": { "n": 1 } }]',
    });
    const found = await loadSpecs(project, ["a.resource.json"]);
    expect(keys(found)).toEqual(["z a"]);
    expect(lines(found)).toEqual(["a.resource.json:1:115: spec.n: must exceed 1"]);
  });
});

describe("a definition that can't be used is a problem at its file", () => {
  const WRONG: [string, string, string | RegExp][] = [
    [
      "another name",
      define('name: "other"'),
      'name: must be "bad", as the file\'s name says, not "other"',
    ],
    [
      "no default export",
      "export const a = 1;",
      "has no default export; write `export default defineResourceManager({ … })`",
    ],
    [
      "a plain object",
      'export default { name: "bad" };',
      "exports an object; write `export default defineResourceManager({ … })`",
    ],
    [
      "no reconcile",
      define('name: "bad", reconcile: undefined'),
      "reconcile: is missing: the pass over one resource, async reconcile(ctx, resource) { … }",
    ],
    [
      "a deadline past the limit",
      define(`name: "bad", deadlineMs: ${LIMITS.maxDeadlineMs + 1}`),
      "deadlineMs: must be a whole number from 1 to 600000",
    ],
    [
      "no concurrency",
      define('name: "bad", maxConcurrent: 0'),
      "maxConcurrent: must be a whole number from 1 to 1000",
    ],
    [
      "more passes at once than the limit",
      define(`name: "bad", maxConcurrent: ${LIMITS.maxConcurrent + 1}`),
      "maxConcurrent: must be a whole number from 1 to 1000",
    ],
    [
      "an unknown source",
      define('name: "bad", sources: [{ kind: "cron" }]'),
      "sources[0]: expression: Invalid input: expected string, received undefined",
    ],
    [
      "a schema that is none",
      define('name: "bad", spec: 3'),
      "spec: must be a zod schema or a JSON Schema object, not number",
    ],
    [
      "a JSON Schema that is wrong",
      define('name: "bad", spec: { type: "strin" }'),
      /^spec: schema is invalid/,
    ],
    [
      "process.exit",
      `process.exit(0);\n${define('name: "bad"')}`,
      "called process.exit(); spec files only return data",
    ],
  ];

  it("whatever is wrong with it", async () => {
    const texts = WRONG.map(([, text], index) => [
      `${FOLDER}/bad-${index}.resource-manager.ts`,
      text.replace('"bad"', `"bad-${index}"`),
    ]);
    const found = await resolveAll(
      tempProject(Object.fromEntries(texts) as Record<string, string>),
    );
    expect(found.managers).toEqual([]);
    const told = found.problems.map(({ file, message }) => [/\d+/.exec(file)?.[0], message]);
    expect(told.toSorted(([left], [right]) => Number(left) - Number(right))).toEqual(
      WRONG.map(([, , message], index) => [
        String(index),
        typeof message === "string"
          ? message.replace('"bad"', `"bad-${index}"`)
          : expect.stringMatching(message),
      ]),
    );
  });

  it("a file whose name can be none of a manager says to rename it", async () => {
    const file = `${FOLDER}/myThing.resource-manager.ts`;
    const found = await resolveAll(tempProject({ [file]: define('name: "myThing"') }));
    expect(found.problems.map((problem) => [problem.file, problem.message])).toEqual([
      [
        file,
        'name: "myThing", as the file is named, must be lower-case letters, digits and dashes; rename the file',
      ],
    ]);
  });

  it("an error it throws is placed, through what it imports", async () => {
    const project = tempProject({
      [`${FOLDER}/bad.resource-manager.ts`]: `import "../../lib.ts";\n${define('name: "bad"')}`,
      "lib.ts": '\n  throw new Error("early");',
    });
    const found = await resolveAll(project);
    expect(found.problems).toMatchObject([
      { file: "lib.ts", line: 2, column: 9, message: "Error: early" },
    ]);
  });

  it("output while it loads is swallowed", async () => {
    const found = await resolveAll(
      tempProject({
        [`${FOLDER}/loud.resource-manager.ts`]: `console.log("hi");\n${define('name: "loud"')}`,
      }),
    );
    expect(lines(found)).toEqual([]);
    expect(found.managers).toHaveLength(1);
  });

  it("two files of one name in one folder are refused", async () => {
    const found = await resolveAll(
      tempProject({
        [`${FOLDER}/note.resource-manager.ts`]: NOTE_DEFINITION,
        [`${FOLDER}/note.resource-manager.js`]: NOTE_DEFINITION,
      }),
    );
    expect(found.managers).toEqual([]);
    expect(lines(found)).toEqual([
      `${FOLDER}/note.resource-manager.js:1:1: note.resource-manager.js and note.resource-manager.ts define the same resource manager; keep one`,
    ]);
  });

  it("an unknown subpath of this package is named", async () => {
    const found = await resolveAll(
      tempProject({
        [`${FOLDER}/bad.resource-manager.ts`]: 'import "@osolmaz/pi-workflows/nope";',
      }),
    );
    expect(lines(found)).toEqual([
      `${FOLDER}/bad.resource-manager.ts:1:8: @osolmaz/pi-workflows/nope does not exist; there are: ${[...installedModules().keys()].join(", ")}`,
    ]);
  });

  it("what initialStatus does wrong is a problem of the spec", async () => {
    const manager = (name: string, initialStatus: string) => ({
      [`${FOLDER}/${name}.resource-manager.ts`]: `${IMPORT}export default defineResourceManager({ name: "${name}", initialStatus: ${initialStatus}, reconcile: (ctx) => ctx.settled() });`,
      [`${name}.resource.json`]: `{ "resourceManager": "${name}", "key": "k", "spec": {} }`,
    });
    const project = tempProject({
      ...manager("throws", '() => { throw new TypeError("no"); }'),
      ...manager("promises", "async () => ({})"),
      ...manager("dates", "() => ({ at: new Date(0) })"),
      ...manager("large", `() => ({ a: "x".repeat(${LIMITS.status - 7}) })`),
      ...manager("fits", `() => ({ a: "x".repeat(${LIMITS.status - 8}) })`),
    });
    const found = await loadSpecs(
      project,
      ["throws", "promises", "dates", "large", "fits"].map((name) => `${name}.resource.json`),
    );
    expect(keys(found)).toEqual(["fits k"]);
    expect(lines(found).map((line) => line.replace(/^(\w+).*?: spec: /, "$1: "))).toEqual([
      "dates: the status from the manager's initialStatus: at is Date, which JSON can't hold",
      `large: the status from the manager's initialStatus has ${LIMITS.status + 1} bytes; at most ${LIMITS.status} are allowed`,
      "promises: the manager's initialStatus returned a promise; it must not be async",
      "throws: the manager's initialStatus refused it: TypeError: no",
    ]);
  });
});

describe("a bundle", () => {
  it("is one text that runs anywhere, with this installation and packages outside", async () => {
    const project = tempProject({
      [NOTE_FILE]: `import { twice } from "../../lib/twice.ts";\nimport { name } from "named";\nvoid [twice, name];\n${NOTE_DEFINITION}`,
      "lib/twice.ts": "export const twice = (n: number): number => 2 * n;",
      "node_modules/named/package.json":
        '{ "exports": { "import": "./esm.mjs", "require": "./no.cjs" } }',
      "node_modules/named/esm.mjs": 'export const name = "n";',
    });
    const [manager] = (await resolveAll(project)).managers;
    const elsewhere = tempProject();
    const file = elsewhere.write("run.mjs", manager?.bundle ?? "");
    const { default: loaded } = (await import(pathToFileURL(file).href)) as {
      default: { name: string };
    };
    expect(loaded.name).toBe("note");
    expect(manager?.bundle).toContain(
      pathToFileURL(project.path("node_modules/named/esm.mjs")).href,
    );
    expect(manager?.bundle).toMatch(/from "file:\/\/.*\/dist\/resource-managers\/index\.js"/);
    expect(manager?.inputs.map((input) => input.path).sort()).toEqual([
      project.path(NOTE_FILE),
      project.path("lib/twice.ts"),
    ]);
  });

  it("has a digest that only its own text and files change", async () => {
    const project = tempProject({
      [NOTE_FILE]: `import "../../lib.ts";\n${NOTE_DEFINITION}`,
      "lib.ts": "export {};",
      "other.ts": "",
    });
    const digest = async () => (await resolveAll(project)).managers[0]?.digest;
    const first = await digest();
    project.write("other.ts", "// changed");
    expect(await digest()).toBe(first);
    project.write("lib.ts", "export {}; // changed");
    expect(await digest()).not.toBe(first);
  });
});

describe("A-14: a proposed definition is accepted only as the disk has it", () => {
  async function proposal(files: Record<string, string> = {}) {
    const project = tempProject({
      [NOTE_FILE]: `import "../../lib.ts";\n${NOTE_DEFINITION}`,
      "lib.ts": "export {};",
      ...files,
    });
    const [manager] = (await resolveAll(project)).managers;
    if (manager === undefined) throw new Error("the definition was not loaded");
    return {
      project,
      manager,
      verify: (changed = manager) => verifyInputs(project.root, changed, project.path("global")),
    };
  }
  const refused = { code: "DEFINITION_CHANGED" };

  it("unchanged", async () => {
    const { verify } = await proposal();
    expect(() => verify()).not.toThrow();
  });

  it("not when the definition or what it imports changed", async () => {
    const { project, verify } = await proposal();
    project.write("lib.ts", "export {}; //");
    expect(() => verify()).toThrow(expect.objectContaining(refused) as Error);
    project.write("lib.ts", "export {};");
    expect(() => verify()).not.toThrow();
    project.write(NOTE_FILE, "");
    expect(() => verify()).toThrow(expect.objectContaining(refused) as Error);
  });

  it("not when discovery leads elsewhere", async () => {
    const { project, verify } = await proposal();
    project.write(`${FOLDER}/note.resource-manager.js`, "");
    expect(() => verify()).toThrow(expect.objectContaining(refused) as Error);
  });

  it("not with another bundle, path, scope or list of files", async () => {
    const { project, manager, verify } = await proposal();
    const other = project.write("evil.ts", "");
    const inputs = manager.inputs.filter((input) => input.path !== manager.path);
    const changes = [
      { bundle: "export default 1;" },
      { path: other },
      { scope: "global" as const },
      { inputs: [] },
      { inputs, digest: digestOf(manager.bundle, inputs) },
      { name: "other" },
    ];
    for (const change of changes) {
      expect(() => verify({ ...manager, ...change })).toThrow(
        expect.objectContaining(refused) as Error,
      );
    }
  });

  it("also where the definition is a link", async () => {
    const project = tempProject({ "shared/note.ts": NOTE_DEFINITION, [`${FOLDER}/.keep`]: "" });
    symlinkSync("../../shared/note.ts", project.path(NOTE_FILE));
    const found = await resolveAll(project);
    expect(lines(found)).toEqual([]);
    expect(found.managers[0]).toMatchObject({
      path: project.path(NOTE_FILE),
      inputs: [{ path: project.path("shared/note.ts") }],
    });
    expect(() =>
      verifyInputs(project.root, found.managers[0]!, project.path("global")),
    ).not.toThrow();
  });
});
