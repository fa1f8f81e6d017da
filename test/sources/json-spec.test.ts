import { describe, expect, it } from "vitest";
import { LIMITS } from "../../src/model/limits.ts";
import { readJsonSpec } from "../../src/sources/json-spec.ts";

const read = (text: string | Uint8Array) =>
  readJsonSpec("a.resource.json", typeof text === "string" ? Buffer.from(text) : text);

/** The problems of a text, as `line:column path: message`. */
const problems = (text: string | Uint8Array): string[] =>
  read(text).problems.map(
    ({ line, column, path, message }) => `${line}:${column} ${path ? `${path}: ` : ""}${message}`,
  );

describe("a JSON spec file", () => {
  it("holds one manifest", () => {
    const { manifests } = read('\n  { "key": "k" }');
    expect(manifests.map(({ value, place }) => [value, place.line, place.column])).toEqual([
      [{ key: "k" }, 2, 3],
    ]);
  });

  it("or an array, each item at its place", () => {
    const { manifests } = read('[\n  { "key": "a" },\n  { "key": "b" }\n]');
    expect(manifests.map(({ place }) => [place.line, place.column])).toEqual([
      [2, 3],
      [3, 3],
    ]);
  });

  it("may have comments and trailing commas", () => {
    const { manifests, problems: wrong } = read('// why\n{ "key": "k", /* so */ "n": [1, 2,], }');
    expect(wrong).toEqual([]);
    expect(manifests[0]?.value).toEqual({ key: "k", n: [1, 2] });
  });

  it("may begin with a byte order mark, which moves no place", () => {
    const { manifests, problems: wrong } = read('\uFEFF{ "key": "k" }');
    expect(wrong).toEqual([]);
    expect(manifests[0]?.place).toMatchObject({ line: 1, column: 1 });
  });

  it("may have CRLF line ends, which count once", () => {
    expect(problems('{\r\n  "a": 1,\r\n  "b" 2\r\n}')).toEqual(["3:7 a colon is expected here"]);
  });

  it.each([
    ["nothing", "", "1:1 the file is empty"],
    ["white space only", " \n\t\n", "1:1 the file is empty"],
    ["a comment only", "// later\n", "2:1 a value is expected here"],
    ["a missing comma", '{\n "a": 1\n "b": 2\n}', "3:2 a comma is expected here"],
    ["a missing brace", '{ "a": 1', "1:9 a closing brace } is expected here"],
    [
      "single quotes",
      "{ 'a': 1 }",
      "1:3 this is not JSON: use strings in double quotes, numbers, true, false or null",
    ],
    [
      "two values",
      '{ "a": 1 }\n{ "a": 2 }',
      "2:1 the file should end here: put several manifests into an array",
    ],
    ["an open string", '{ "a": "b\n}', "1:8 the string is not closed"],
  ])("is refused with its place: %s", (_name, text, problem) => {
    expect(problems(text)[0]).toBe(problem);
    expect(read(text).manifests).toEqual([]);
  });

  it("names a git conflict marker instead of a syntax error", () => {
    const text = '{\n<<<<<<< HEAD\n "a": 1\n=======\n "a": 2\n>>>>>>> other\n}';
    expect(problems(text)).toEqual([
      "2:1 the file holds a git conflict marker; resolve the merge conflict first",
    ]);
  });

  it.each([
    ["twice on top", '{ "a": 1,\n "a": 2 }', "2:2 a: is given twice; keep one"],
    ["deep inside", '[{ "s": { "x": 1, "x": 1 } }]', "1:19 [0].s.x: is given twice; keep one"],
    ["with an escape", '{ "a": 1, "\\u0061": 2 }', "1:11 a: is given twice; keep one"],
  ])("may not give a member twice: %s", (_name, text, problem) => {
    expect(problems(text)).toEqual([problem]);
  });

  it("is not fooled by quotes, colons and backslashes inside strings", () => {
    const value = { 'a":"': '"x":', "b\\": "\\\\", c: ['"', "\\", ":"], 'd\\"': {} };
    const { manifests, problems: wrong } = read(JSON.stringify(value, null, 2));
    expect(wrong).toEqual([]);
    expect(manifests[0]?.value).toEqual(value);
  });

  it.each([
    ['{ "__proto__": { "polluted": true } }', "1:3 __proto__: this name is not allowed"],
    ['{ "a": { "\\u005f_proto__": 1 } }', "1:10 a.__proto__: this name is not allowed"],
    ['{ "a": 1, /**/ "__proto__": {} }', "1:16 __proto__: this name is not allowed"],
  ])("may not name __proto__: %s", (text, problem) => {
    expect(problems(text)).toEqual([problem]);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  it("keeps constructor and prototype as ordinary members", () => {
    const { manifests } = read('{ "constructor": { "prototype": { "x": 1 } } }');
    expect(Object.hasOwn(manifests[0]?.value as object, "constructor")).toBe(true);
    expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
  });

  it.each([
    [
      "UTF-16",
      Buffer.from("\uFEFF{}", "utf16le"),
      "1:1 the file is not UTF-8 text but UTF-16; save it as UTF-8",
    ],
    [
      "Latin-1",
      Buffer.from('{ "a": "\xe9" }', "latin1"),
      "1:1 the file is not UTF-8 text; save it as UTF-8",
    ],
  ])("must be UTF-8, not %s", (_name, bytes, problem) => {
    expect(problems(bytes)).toEqual([problem]);
  });

  it("may be as large as the limit and no larger", () => {
    const filled = (size: number) => `{ "a": "${"x".repeat(size - 10)}" }`.padEnd(size);
    expect(problems(filled(LIMITS.manifestFile - 2).padEnd(LIMITS.manifestFile))).toEqual([]);
    expect(problems(filled(LIMITS.manifestFile - 2).padEnd(LIMITS.manifestFile + 1))).toEqual([
      `1:1 the file has ${LIMITS.manifestFile + 1} bytes; at most ${LIMITS.manifestFile} are allowed`,
    ]);
  });

  it("may hold as many manifests as the limit and no more", () => {
    const list = (length: number) => JSON.stringify(Array.from({ length }, () => ({})));
    expect(read(list(LIMITS.manifestsPerFile)).manifests).toHaveLength(LIMITS.manifestsPerFile);
    expect(problems(list(LIMITS.manifestsPerFile + 1))).toEqual([
      "1:1 the file holds 10001 manifests; at most 10000 are allowed",
    ]);
  });

  it.each([200, 100_000])("may nest 200 levels deep and no deeper (%i)", (levels) => {
    const nested = (depth: number) => `${"[".repeat(depth)}1${"]".repeat(depth)}`;
    expect(read(`{ "a": ${nested(levels === 200 ? 199 : 10)} }`).problems).toEqual([]);
    expect(problems(`{ "a": ${nested(levels + 1)} }`)[0]).toContain("nested too deeply");
  });

  it("finds the place of a field, of a name, and of what is missing", () => {
    const [manifest] = read('{\n  "spec": {\n    "list": [1,\n      2]\n  }\n}').manifests;
    const at = (path: (string | number)[], of?: "name") => {
      const place = manifest?.at(path, of);
      return `${place?.line}:${place?.column}`;
    };
    expect(at(["spec", "list", 1])).toBe("4:7");
    expect(at(["spec", "list"], "name")).toBe("3:5");
    expect(at(["spec", "absent", "deep"])).toBe("2:11");
    expect(at(["absent"])).toBe("1:1");
  });
});
