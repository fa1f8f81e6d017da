import { SourceMap, type SourceMapPayload } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Place } from "../model/manifest.ts";
import { isOwnCode, noSuchExport } from "./installed.ts";
import { displayPath } from "./project.ts";
import { swapProperty } from "./swap-property.ts";

/** Where code of bundles that were evaluated stands in its sources. */
export type BundlePlaces = {
  /** Makes positions in the bundle at `file` known; `map` is the source map's JSON text. */
  add(file: string, map: string): void;
  /**
   * The place of the innermost call in `stack` that lies in the project's own sources, or in
   * `file` (as places name it) where that is given.
   */
  ofStack(stack: string, file?: string): Place | undefined;
  /** What an error says, with modules named as people import them. */
  worded(message: string): string;
};

const FRAME = /(file:\/\/[^\s()]+|\/[^\s():]+):(\d+):(\d+)/g;

/** Maps are parsed when the first position is asked for: most loads never ask. */
export function bundlePlaces(project: string): BundlePlaces {
  const texts = new Map<string, string>();
  const maps = new Map<string, SourceMap>();
  // By source as a map names it: the file as places name it, undefined for what is not the project's.
  const shownNames = new Map<string, string | undefined>();
  const shownName = (bundle: string, source: string): string | undefined => {
    const id = `${bundle}\0${source}`;
    if (!shownNames.has(id)) shownNames.set(id, ownFile(project, bundle, source));
    return shownNames.get(id);
  };
  return {
    add: (file, map) => void texts.set(file, map),
    ofStack(stack, file) {
      for (const [, where, line, column] of withHead(stack).matchAll(FRAME)) {
        const bundle = toPath(where as string);
        const map = bundle === undefined ? undefined : mapOf(bundle, texts, maps);
        const entry = map?.findEntry(Number(line) - 1, Number(column) - 1);
        if (bundle === undefined || entry === undefined || !("originalSource" in entry)) continue;
        const shown = shownName(bundle, entry.originalSource);
        if (shown === undefined || (file !== undefined && file !== shown)) continue;
        return { file: shown, line: entry.originalLine + 1, column: entry.originalColumn + 1 };
      }
      return undefined;
    },
    worded(message) {
      const [, url = "", name = ""] = MISSING_EXPORT.exec(message) ?? [];
      const file = toPath(url);
      return url === "" || file === undefined ? message : noSuchExport(project, file, name);
    },
  };
}

const MISSING_EXPORT =
  /^SyntaxError: The requested module '(file:.+)' does not provide an export named '(.+)'$/;

const HEAD = /^(file:\/\/\S+:\d+)\n.*\n( *)\^/;

/** The position of an import that fails stands above the stack: its line, and marks below its column. */
function withHead(stack: string): string {
  return stack.replace(
    HEAD,
    (_head, line: string, before: string) => `${line}:${before.length + 1}\n`,
  );
}

/** The call of `defineResource` itself and the innermost ones around it. */
const BARE_FRAMES = 5;

/**
 * Runs `read` while stacks that have not been looked at yet are formatted as bare positions, which
 * takes a fifth of the time of the usual form.
 */
export function withBareStacks<T>(read: () => T): T {
  const bare = (_error: Error, frames: NodeJS.CallSite[]) =>
    frames
      .slice(0, BARE_FRAMES)
      .map((frame) => `${frame.getFileName()}:${frame.getLineNumber()}:${frame.getColumnNumber()}`)
      .join("\n");
  const restore = swapProperty(Error, "prepareStackTrace", bare);
  try {
    return read();
  } finally {
    restore();
  }
}

function mapOf(
  file: string,
  texts: Map<string, string>,
  maps: Map<string, SourceMap>,
): SourceMap | undefined {
  const known = maps.get(file);
  const text = texts.get(file);
  if (known !== undefined || text === undefined) return known;
  const map = new SourceMap(JSON.parse(text) as SourceMapPayload);
  maps.set(file, map);
  return map;
}

function ownFile(project: string, bundle: string, source: string): string | undefined {
  if (source === "<stdin>" || source === "") return undefined;
  const file = source.startsWith("file:")
    ? fileURLToPath(source)
    : path.resolve(path.dirname(bundle), source);
  return isLibrary(file) ? undefined : displayPath(project, file);
}

function toPath(where: string): string | undefined {
  if (!where.startsWith("file:")) return where;
  try {
    return fileURLToPath(where.replace(/[?#].*$/, ""));
  } catch {
    // Not a path on this machine, so not one of our bundles.
    return undefined;
  }
}

/** Packages, and this product's own authoring functions, which are bundled in. */
function isLibrary(source: string): boolean {
  return source.split(path.sep).includes("node_modules") || isOwnCode(source);
}
