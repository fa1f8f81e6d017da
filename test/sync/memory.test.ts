import { describe, expect, it } from "vitest";
import type { Desired, Problem } from "../../src/model/manifest.ts";
import { nothingResolved, type Resolution } from "../../src/runner/resolver.ts";
import type { Loaded } from "../../src/server/sync/load.ts";
import { isBodiless, managersDiffer, remember, staleFiles } from "../../src/server/sync/memory.ts";
import type { Listing } from "../../src/server/sync/source.ts";
import { resolvedManager } from "../store/support.ts";

const PROJECT = "/project";
const APPLIED = { isApplied: true };
const REVISION = { id: "r1", kind: "commit" } as const;

function listing(specs: Record<string, string>, changed?: string[]): Listing {
  return {
    specs: new Map(Object.entries(specs)),
    problems: [],
    hasWorkflows: false,
    absentRoots: [],
    changed: changed && new Set(changed),
    isOfDisk: false,
  };
}

function desired(file: string): Desired {
  return {
    resourceManager: "widget",
    key: file,
    spec: `{"text":"long"}`,
    specHash: file,
    initialStatus: "{}",
    labels: {},
    dependsOn: [],
    place: { file, line: 1, column: 1 },
  };
}

function loaded(specs: Record<string, string>, more: Partial<Resolution> = {}): Loaded {
  const files = Object.keys(specs);
  const input = { path: `${PROJECT}/lib/schema.ts`, sha256: "x" };
  const widget = { ...resolvedManager("widget"), inputs: [input], bundle: "" };
  return {
    project: PROJECT,
    revision: REVISION,
    listing: listing(specs),
    resolution: {
      ...nothingResolved(),
      desired: files.map(desired),
      managers: [widget],
      files: files.map((file) => ({ file, sha256: "x" })),
      imports: { "t.resource.ts": ["lib/size.ts"] },
      ...more,
    },
    fresh: new Set(files),
    managers: [widget],
    specs: { desired: [], managers: [], problems: [], files: [] },
    workflows: { inputs: [], globalInputs: [], globalNames: [], problems: [] },
  };
}

function problem(file: string, specFile?: string): Problem {
  const place = { file, line: 1, column: 1, path: "", message: "is wrong" };
  return specFile === undefined ? place : { ...place, specFile };
}

const SPECS = { "a.resource.json": "1", "b.resource.json": "1", "t.resource.ts": "1" };

describe("what must be loaded again", () => {
  const memory = remember(loaded(SPECS), undefined, APPLIED);

  it("is everything without memory, or where what changed can't be told", () => {
    expect(staleFiles(PROJECT, listing(SPECS, []), undefined)).toHaveLength(3);
    expect(staleFiles(PROJECT, listing(SPECS), memory)).toHaveLength(3);
  });

  it("is nothing where nothing changed, or only what no spec imports", () => {
    expect(staleFiles(PROJECT, listing(SPECS, []), memory)).toEqual([]);
    expect(staleFiles(PROJECT, listing(SPECS, ["README.md"]), memory)).toEqual([]);
  });

  it("is what changed, what is new, and the users of a module that changed", () => {
    const now = { ...SPECS, "a.resource.json": "2", "c.resource.json": "1" };
    const changed = ["a.resource.json", "c.resource.json", "lib/size.ts"];
    expect(staleFiles(PROJECT, listing(now, changed), memory).sort()).toEqual([
      "a.resource.json",
      "c.resource.json",
      "t.resource.ts",
    ]);
  });

  it("is everything where a definition changed, or a module of one, or a definition is new", () => {
    for (const file of ["lib/schema.ts", ".pi/resource-managers/new.resource-manager.ts"]) {
      expect(staleFiles(PROJECT, listing(SPECS, [file]), memory)).toHaveLength(3);
    }
  });
});

describe("memory", () => {
  it("holds no bodies", () => {
    const [kept] =
      remember(loaded(SPECS), undefined, APPLIED).files.get("a.resource.json")?.desired ?? [];
    expect(kept && isBodiless(kept)).toBe(true);
    expect(kept?.spec).not.toContain("long");
    expect(isBodiless(desired("a"))).toBe(false);
  });

  it("does not hold files with problems, so that they are loaded each time", () => {
    const problems = [problem("a.resource.json"), problem("lib/size.ts", "t.resource.ts")];
    const memory = remember(loaded(SPECS, { problems }), undefined, APPLIED);
    expect([...memory.files.keys()]).toEqual(["b.resource.json"]);
  });

  it("A-5: holds nothing of a load with a problem that belongs to no spec file", () => {
    const memory = remember(
      loaded(SPECS, { desired: [], problems: [problem(".")] }),
      undefined,
      APPLIED,
    );
    expect(memory.files.size).toBe(0);
  });

  it("A-5: does not hold a file that was not read", () => {
    const memory = remember(loaded(SPECS, { files: [] }), undefined, APPLIED);
    expect(memory.files.size).toBe(0);
  });

  it("knows what is imported, and what has a problem, with the hash of what was loaded", () => {
    const files = [...Object.keys(SPECS), "lib/size.ts", "lib/bad.ts"];
    const read = files.map((file) => ({ file, sha256: `hash of ${file}` }));
    const problems = [problem("lib/bad.ts", "b.resource.json")];
    const memory = remember(loaded(SPECS, { files: read, problems }), undefined, APPLIED);
    expect(Object.fromEntries(memory.modules)).toEqual({
      "lib/size.ts": "hash of lib/size.ts",
      "lib/bad.ts": "hash of lib/bad.ts",
      "lib/schema.ts": "x",
    });
  });

  it("forgets files that are gone and keeps those that were not loaded again", () => {
    const before = remember(loaded(SPECS), undefined, APPLIED);
    const next = loaded({ "a.resource.json": "1" });
    const after = remember({ ...next, fresh: new Set() }, before, APPLIED);
    expect([...after.files]).toEqual([["a.resource.json", before.files.get("a.resource.json")]]);
  });

  it("tells a definition that came out otherwise", () => {
    const before = remember(loaded(SPECS), undefined, APPLIED);
    const { resolution } = loaded(SPECS);
    expect(managersDiffer(before, resolution)).toBe(false);
    const managers = resolution.managers.map((manager) => ({ ...manager, digest: "another" }));
    expect(managersDiffer(before, { ...resolution, managers })).toBe(true);
  });
});
