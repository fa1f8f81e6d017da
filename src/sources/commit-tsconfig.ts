import path from "node:path";
import { parse } from "jsonc-parser";
import type { CommitTree } from "./git/commit-tree.ts";
import { FileFault } from "./text.ts";

/** What a commit's own `tsconfig.json` (at the top; `extends` does not count) says to the bundler. */
export type CommitTsconfig = {
  /** The options that are about one file at a time, as the bundler takes them. */
  raw: string;
  /** Where an import that looks like a package may lead to in the tree, best first. */
  alias: (name: string) => string[];
};

type Options = { baseUrl?: unknown; paths?: unknown };

/** Reads it; without one, or where it makes no sense, nothing is set. */
export async function readTsconfig(tree: CommitTree): Promise<CommitTsconfig> {
  const { baseUrl, paths, ...compilerOptions } = optionsIn(await textOf(tree));
  const base = typeof baseUrl === "string" ? baseUrl : undefined;
  const patterns = Object.entries(isRecord(paths) ? paths : {}).flatMap(([pattern, targets]) =>
    Array.isArray(targets) ? [{ pattern, targets: targets.map(String) }] : [],
  );
  // Any name may lie below `baseUrl`.
  if (base !== undefined) patterns.push({ pattern: "*", targets: ["*"] });
  // A pattern with more before its star says more.
  patterns.sort((left, right) => weight(right.pattern) - weight(left.pattern));
  return {
    raw: JSON.stringify({ compilerOptions }),
    alias: (name) =>
      patterns.flatMap(({ pattern, targets }) => {
        const rest = matched(pattern, name);
        if (rest === undefined) return [];
        return targets.map((target) =>
          path.join(
            base ?? ".",
            target.replace("*", () => rest),
          ),
        );
      }),
  };
}

async function textOf(tree: CommitTree): Promise<string> {
  try {
    return (await tree.read("tsconfig.json")).toString("utf8");
  } catch (thrown) {
    if (thrown instanceof FileFault) return "{}";
    throw thrown;
  }
}

function optionsIn(text: string): Options {
  const config: unknown = parse(text, [], { allowTrailingComma: true });
  const options = isRecord(config) ? config["compilerOptions"] : undefined;
  return isRecord(options) ? options : {};
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function weight(pattern: string): number {
  const star = pattern.indexOf("*");
  return star === -1 ? Infinity : star;
}

/** What the star of a pattern stands for in `name`; undefined where it does not match. */
function matched(pattern: string, name: string): string | undefined {
  const star = pattern.indexOf("*");
  if (star === -1) return pattern === name ? "" : undefined;
  const [before, after] = [pattern.slice(0, star), pattern.slice(star + 1)];
  if (!name.startsWith(before) || !name.endsWith(after)) return undefined;
  if (name.length < before.length + after.length) return undefined;
  return name.slice(before.length, name.length - after.length);
}
