import { describe, expect, it } from "vitest";
import { NOTE_DEFINITION, NOTE_FILE, tempProject } from "../sources/temp-project.ts";
import { keys, lines, loadSpecs } from "./loading.ts";

const FILE = ".pi/resources/a.resource.ts";
const IMPORTS = `import { defineResource } from "@osolmaz/pi-workflows/resource-managers";
import note from "../resource-managers/note.resource-manager.ts";
`;
/** A spec file whose title is what `expression` gives, on line 4. */
const titled = (expression: string, imports = "") =>
  `${IMPORTS}${imports}
export default defineResource(note, { key: "a", spec: { title: String(${expression}).slice(0, 40) } });\n`;

async function load(text: string, files: Record<string, string> = {}) {
  const project = tempProject({ [NOTE_FILE]: NOTE_DEFINITION, [FILE]: text, ...files });
  return loadSpecs(project, [
    FILE,
    ...Object.keys(files).filter((file) => /\.resource\./.test(file)),
  ]);
}

describe("A TypeScript spec that depends on a clock or on chance", () => {
  const sources: Record<string, [expression: string, imports?: string]> = {
    "Date.now": ["Date.now()"],
    "new Date()": ["new Date().getUTCDay()"],
    "Date()": ["Date()"],
    "performance.now": ["performance.now()"],
    "process.hrtime": ["process.hrtime()"],
    "process.hrtime.bigint": ["process.hrtime.bigint()"],
    "process.uptime": ["process.uptime()"],
    "Math.random": ["Math.random() < 0.5"],
    "crypto.randomUUID": ["crypto.randomUUID()"],
    "crypto.getRandomValues": ["crypto.getRandomValues(new Uint32Array(1))[0]"],
    "crypto.randomBytes": [
      'randomBytes(1).toString("hex")',
      'import { randomBytes } from "node:crypto";',
    ],
    "crypto.randomInt": ["randomInt(2)", 'import { randomInt } from "crypto";'],
    "crypto.randomFillSync": [
      "crypto.randomFillSync(Buffer.alloc(4), 2)[3]",
      'import crypto from "node:crypto";',
    ],
  };
  for (const [source, [expression, imports = ""]] of Object.entries(sources)) {
    it(`is refused, with the field that moves and the call of ${source}`, async () => {
      const found = await load(titled(expression, imports));
      expect(found.desired).toEqual([]);
      expect(lines(found)).toEqual([
        expect.stringMatching(
          /^\.pi\/resources\/a\.resource\.ts:4:16: spec\.title: was .* at first, and .* when it was evaluated again; a spec must not depend on a clock or on chance \(.* at \.pi\/resources\/a\.resource\.ts:4:\d+\)$/,
        ) as string,
      ]);
      expect(lines(found)[0]).toContain(`(${source} at `);
    });
  }

  it("is found through helpers that other files evaluated first, and each field is named", async () => {
    const found = await load(
      `${IMPORTS}import { id } from "../../lib/id.ts"; void id;
export default defineResource(note, { key: "a", spec: { title: "a" } });`,
      {
        "lib/id.ts": "export const id = Math.random();",
        ".pi/resources/b.resource.ts": `${IMPORTS}import { id } from "../../lib/id.ts";
export default [
  defineResource(note, { key: "steady", spec: { title: "x" } }),
  defineResource(note, { key: \`b\${id}\`, labels: { l: \`\${id}\` }, spec: { title: "x", count: Math.floor(id * 100) } }),
];`,
      },
    );
    expect(keys(found)).toEqual(["note a", "note steady"]);
    expect(lines(found).map((line) => line.split(": ").slice(0, 2).join(": "))).toEqual([
      ".pi/resources/b.resource.ts:6:3: key",
      ".pi/resources/b.resource.ts:6:3: labels.l",
      ".pi/resources/b.resource.ts:6:3: spec.count",
    ]);
    expect(lines(found)[0]).toMatch(/\(Math\.random at lib\/id\.ts:1:24\)$/);
  });

  it("shows no secret", async () => {
    const found = await load(`${IMPORTS}
const token = crypto.randomUUID();
export default defineResource(note, { key: "a", spec: { title: "a", token } });`);
    expect(lines(found)).toEqual([
      expect.stringContaining("spec.token: was *** (1) at first, and *** (2) when") as string,
    ]);
  });

  it("shows nothing where the manager is not known", async () => {
    const found = await load(
      `export default { resourceManager: "gone", key: "a", spec: { at: Date.now() } };`,
    );
    expect(lines(found)).toEqual([expect.stringContaining("spec.at: was *** (1)") as string]);
  });

  it("is refused where it fails or gives another number of manifests the second time", async () => {
    const found = await load(
      `${IMPORTS}const count = Math.random() < 0.5 ? 1 : 2;
export default [1, 2].slice(0, count).map((n) => defineResource(note, { key: \`k\${n}\`, spec: { title: "x" } }));`,
      {
        ".pi/resources/b.resource.ts": `${IMPORTS}const year = new Date().getFullYear();
if (year > ${new Date().getFullYear()}) throw new Error("too late");
export default defineResource(note, { key: "b", spec: { title: "x" } });`,
      },
    );
    expect(found.desired).toEqual([]);
    expect(lines(found)).toEqual([
      expect.stringMatching(/a\.resource\.ts:1:1: exports [12] manifests, and [12] when/) as string,
      expect.stringMatching(/b\.resource\.ts:4:\d+: fails when .*: Error: too late$/) as string,
    ]);
  });
});

describe("A TypeScript spec that asks a clock or chance, and does not depend on them", () => {
  it("is loaded, with dates that are what they were", async () => {
    const found = await load(`${IMPORTS}
const began = performance.now(); void began; void Math.random(); void new Date();
const day = new Date(2024, 1, 29);
const same = day instanceof Date && day.constructor === Date && new Date("2024-02-29T00:00:00Z").toISOString();
class Own extends Date {}
if (!(new Own() instanceof Own) || typeof Date() !== "string" || Date.UTC(1970, 0) !== 0) throw new Error();
export default defineResource(note, { key: "a", spec: { title: String(same) } });`);
    expect(lines(found)).toEqual([]);
    expect(found.desired[0]?.spec).toContain("2024-02-29T00:00:00.000Z");
  });

  it("may ask in its definition's schema or initialStatus", async () => {
    const project = tempProject({
      [NOTE_FILE]: NOTE_DEFINITION.replace('phase: "new"', "phase: String(Date.now())"),
      [FILE]: titled('"x"'),
    });
    const found = await loadSpecs(project, [FILE]);
    expect(lines(found)).toEqual([]);
    expect(found.desired[0]?.initialStatus).toMatch(/"phase":"\d{13}"/);
  });
});
