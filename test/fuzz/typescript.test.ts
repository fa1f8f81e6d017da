import path from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PiWorkflowsError } from "../../src/model/errors.ts";
import { keys, loadSpecs } from "../resolver/loading.ts";
import {
  NOTE_DEFINITION,
  NOTE_FILE,
  tempProject,
  type TempProject,
} from "../sources/temp-project.ts";
import { count } from "../support/figures.ts";
import { TOKEN } from "./support/asking.ts";
import { filesOf, withVariables } from "./support/files.ts";
import { mangled, tries } from "./support/inputs.ts";

/** Values that no JSON has, and values that answer in their own way. */
const VALUES = [
  "undefined",
  "null",
  "Symbol('s')",
  "1n",
  "NaN",
  "new Date(NaN)",
  "new Map([[1, 2]])",
  "/x/g",
  "() => 1",
  "class {}",
  "Object.create(null)",
  "new Proxy({}, { get() { throw new Error('get'); } })",
  "new Proxy({}, { getPrototypeOf() { throw new Error('prototype'); } })",
  "new Proxy({}, { ownKeys() { throw new Error('keys'); } })",
  "new Proxy([], {})",
  "Proxy.revocable({}, {}).proxy",
  "(() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy; })()",
  "(() => { const a: any = {}; a.a = a; return a; })()",
  "{ get a(): never { throw new Error('getter'); } }",
  "{ toJSON() { throw new Error('toJSON'); } }",
  "{ then(done: any) { done({ then() { throw 1; } }); } }",
  "{ then() {} }",
  "{ [Symbol.toPrimitive]() { throw 1; }, toString: null }",
  "'x'.repeat(2_000_000)",
  "Array(30_000).fill({})",
  "new Array(4_000_000_000)",
  "Array.from({ length: 600 }).reduce((a: any) => [a], 1)",
  "new Uint8Array(1e6)",
  'JSON.parse(\'{"__proto__":{"polluted":true}}\')',
  "Object.assign(new Error('e'), { message: Symbol('m') })",
  "Object.defineProperty(new Error('e'), 'stack', { get() { throw 1; } })",
  "Object.defineProperty(new Error('e'), 'name', { value: { toString: null } })",
  "process.env",
  "globalThis",
];

/** Ways in which a value, `V`, leaves a file or meets its checks. */
const FORMS = [
  "export default V;",
  "export default [V, V];",
  "export default Promise.resolve(V);",
  "export default { resourceManager: 'note', key: 'k', spec: V };",
  "export default { resourceManager: 'note', key: 'k', spec: { title: V } };",
  "export default { resourceManager: V, key: V, spec: {} };",
  "export default { resourceManager: 'note', key: 'k', labels: V, dependsOn: V, spec: {} };",
  "throw V;",
  "Promise.reject(V); export default [];",
  "queueMicrotask(() => { throw V; }); export default [];",
  "setTimeout(() => { throw V; }, 0); await new Promise((r) => setTimeout(r, 5)); export default [];",
  "await V; export default [];",
  "process.exit(V as any); export default [];",
  "process.stdout.write(V as any); export default [];",
  "console.log(V); export default [];",
  "import.meta.url; require(V as any); export default [];",
  "import x from './missing.ts'; export default x ?? V;",
  "export { V as nothing };",
];

/** Those that change the process, which all files of a load share: told, but not by the right name. */
const SPOILING = [
  "Object.prototype['polluted'] = V; export default [];",
  "Object.defineProperty(Error, 'prepareStackTrace', { value: () => V }); throw new Error('x');",
  "Array.prototype.map = V as any; export default [];",
  "Promise.prototype.then = V as any; export default [];",
  "JSON.stringify = (() => V) as any; export default [];",
  "globalThis.process = V as any; export default [];",
];

const filled = (forms: readonly string[]) =>
  fc
    .tuple(fc.constantFrom(...forms), fc.constantFrom(...VALUES))
    .map(([form, value]) => form.replaceAll("V", () => `(${value})`));
const file = fc.oneof(
  { weight: 5, arbitrary: filled(FORMS) },
  { weight: 1, arbitrary: mangled(fc.constantFrom(...FORMS)).map(String) },
  { weight: 1, arbitrary: mangled(fc.constantFrom(NOTE_DEFINITION)).map(String) },
);
const several = fc.array(file, { minLength: 8, maxLength: 16 });
const loads = fc.oneof(
  { weight: 4, arbitrary: several.map((texts) => ({ texts, spoils: false })) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(several, filled(SPOILING))
      .map(([texts, text]) => ({ texts: [...texts, text], spoils: true })),
  },
);

const FINE = 'export default { resourceManager: "note", key: "fine", spec: { title: "t" } };';

describe("TypeScript specs, whatever they do", () => {
  it("are manifests or problems that name the file, and keep no other file from being loaded", async () => {
    // Each is a process and some files in it.
    const { numRuns, ...how } = { ...tries(6), endOnFailure: true };
    let files = 0;
    const project = tempProject({ [NOTE_FILE]: NOTE_DEFINITION, "fine.resource.ts": FINE });
    const outside = tempProject({ ".keep": "" });
    const variables = { GITHUB_TOKEN: TOKEN, HOME: outside.root, TMPDIR: outside.root };
    await withVariables(variables, () =>
      fc.assert(
        fc.asyncProperty(loads, async ({ texts, spoils }) => {
          const names = texts.map((_text, index) => `odd${index}.resource.ts`);
          for (const [index, name] of names.entries()) project.write(name, texts[index] as string);
          files += names.length;
          const found = await load(project, [...names, "fine.resource.ts"], spoils);
          if (found === undefined) return;
          const shown = JSON.stringify(found.problems);
          for (const { line, column, message } of found.problems) {
            if (!(line > 0 && column > 0) || message === "") expect.unreachable(shown);
          }
          if (shown.includes(TOKEN) || JSON.stringify(found.desired).includes(TOKEN)) {
            expect.unreachable(`${texts.join("\n---\n")}\n${shown}`);
          }
          if (spoils) return;
          const isGivenUp = found.problems.some(({ file: name }) => name === ".");
          if (!isGivenUp && !keys(found).includes("note fine")) {
            expect.unreachable(`${texts.join("\n---\n")}\n${shown}`);
          }
          if (/resolver-child|evaluate-specs|node:internal/.test(shown)) {
            expect.unreachable(`${texts.join("\n---\n")}\n${shown}`);
          }
        }),
        { numRuns, ...how },
      ),
    );
    count("inputs of TypeScript specs", files);
    expect(filesOf(outside.root)).toEqual([".keep"]);
    expect(
      filesOf(path.join(project.root)).filter((name) => !/resource|^\.pi|^global/.test(name)),
    ).toEqual([]);
  });
});

/** What a load came to; undefined where it was refused whole, as it may be where a file spoils the process. */
async function load(project: TempProject, names: string[], spoils: boolean) {
  try {
    return await loadSpecs(project, names, {}, LIMITS);
  } catch (thrown) {
    if (spoils && thrown instanceof PiWorkflowsError) return undefined;
    throw thrown;
  }
}
const LIMITS = { evaluateMs: 2_000, resolverHeapMiB: 256 };
