import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";

const SRC = path.resolve(import.meta.dirname, "../src");

/**
 * The one table of import directions (DESIGN.md section 3). Its additions: `runner` imports
 * `sources`, because the resolver child parses spec files with them, and `cli` imports the
 * resolver's parent side, because `diff` must load specs with no server running. Nodes of workflows
 * have the effects, errors and places of declarations that resource managers have.
 */
const ALLOWED: Record<string, string[]> = {
  model: [],
  "resource-managers": ["model"],
  workflows: [
    "model",
    "resource-managers/context",
    "resource-managers/results",
    "resource-managers/site",
  ],
  sources: ["model", "workflows", "resource-managers"],
  diff: ["model"],
  store: ["model"],
  runner: ["model", "workflows", "resource-managers", "sources"],
  apply: ["model", "diff"],
  server: [
    "model",
    "resource-managers",
    "workflows",
    "sources",
    "diff",
    "store",
    "runner",
    "apply",
  ],
  // For authors' tests: it puts the other folders together in memory.
  testing: ["model", "resource-managers", "workflows", "runner", "server"],
  cli: [
    "model",
    "sources",
    "diff",
    "apply",
    "server/client",
    "server/protocol",
    "server/core-files",
    // Without a server: no server may run for the one, and the other must find what keeps it from it.
    "server/backup",
    "server/doctor",
    "store/sqlite/reader",
    "store/store",
    "store/runs",
    "runner/resolver",
    "runner/warm-resolver",
    // `workflow graph` draws a graph that the resolver described; no author's code is near.
    "workflows/draw-mermaid",
    "workflows/draw-text",
  ],
  extension: [
    "model",
    "diff/render",
    "diff/schema",
    "sources/project",
    "server/client",
    "server/protocol",
  ],
};

/** Packages that only one folder may import. */
const RESERVED: Record<string, string> = {
  octokit: "examples",
  "@earendil-works/pi-coding-agent": "extension",
};

function sourceFiles(): string[] {
  return readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".ts"),
  );
}

function importsOf(file: string): string[] {
  const text = readFileSync(path.join(SRC, file), "utf8");
  return [...text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map(
    (match) => match[1] as string,
  );
}

function violation(file: string, specifier: string): string | undefined {
  const folder = file.split(path.sep)[0] as string;
  if (!specifier.startsWith(".")) {
    if (folder === "model" && specifier !== "zod" && !specifier.startsWith("node:crypto")) {
      return `${file} imports ${specifier}: model imports zod only`;
    }
    const owner = Object.entries(RESERVED).find(
      ([name]) => specifier === name || specifier.startsWith(`${name}/`),
    );
    return owner && owner[1] !== folder ? `${file} imports ${specifier}` : undefined;
  }
  const target = path
    .relative(SRC, path.resolve(SRC, path.dirname(file), specifier))
    .replace(/\.ts$/, "");
  const targetFolder = target.split(path.sep)[0] as string;
  if (targetFolder === folder) return undefined;
  const allowed = (ALLOWED[folder] ?? []).some(
    (entry) => target === entry || target.startsWith(`${entry}/`),
  );
  return allowed ? undefined : `${file} imports ${target}`;
}

describe("import directions", () => {
  it("knows every folder of src", () => {
    const folders = new Set(sourceFiles().map((file) => file.split(path.sep)[0] as string));
    expect([...folders].filter((folder) => !(folder in ALLOWED))).toEqual([]);
  });

  it("hold for every import", () => {
    const violations = sourceFiles().flatMap((file) =>
      importsOf(file).map((specifier) => violation(file, specifier)),
    );
    expect(violations.filter((found) => found !== undefined)).toEqual([]);
  });

  it("are seen to be broken when they are", () => {
    expect(violation("store/sqlite/x.ts", "../../server/index.ts")).toBeDefined();
    expect(violation("model/x.ts", "better-sqlite3")).toBeDefined();
    expect(violation("cli/x.ts", "../server/scheduler.ts")).toBeDefined();
    expect(violation("server/x.ts", "octokit")).toBeDefined();
  });
});

describe("packages that are loaded late", () => {
  it("are never loaded by import(), which may resolve without the exports of CommonJS modules", () => {
    const late = sourceFiles().flatMap((file) => {
      const text = readFileSync(path.join(SRC, file), "utf8");
      const found = [...text.matchAll(/\bimport\(\s*"([^".][^"]*)"\s*\)/g)];
      return found.map(([, name]) => `${file} loads ${name}`);
    });
    expect(late).toEqual([]);
  });
});
