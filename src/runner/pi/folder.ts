import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import path from "node:path";

/** Pi's tools that name a file or a folder as `path`. */
const FILE_TOOLS: ReadonlySet<string> = new Set(["read", "write", "edit", "grep", "find", "ls"]);

/** Tools with which an agent gets anywhere, so that keeping the others in would be for show. */
const SHELLS: ReadonlySet<string> = new Set(["bash", "powershell"]);

/** Whether agents with these tools are kept in their folder. */
export function isKeptIn(tools: readonly string[]): boolean {
  return !tools.some((tool) => SHELLS.has(tool));
}

/**
 * Why a call of a tool is refused: it names something outside of `folder`. What an agent reads may be
 * a stranger's and talk it into reading what is private, or into changing what runs later.
 */
export function refusalOf(
  folder: string,
  { toolName, input }: { toolName: string; input: { path?: unknown } },
): string | undefined {
  if (!FILE_TOOLS.has(toolName) || typeof input.path !== "string") return undefined;
  const home = realpathSync(folder);
  const named = asPiReadsIt(input.path);
  const real = /^(?:~|file:)/i.test(named) ? undefined : realOf(path.resolve(home, named));
  if (real === home || real?.startsWith(`${home}${path.sep}`)) return undefined;
  return `${input.path} is outside of ${home}; work in this folder only`;
}

/** Pi takes a leading @ away, and writes every space as a plain one. */
function asPiReadsIt(named: string): string {
  return named.replace(/[\u00A0\u2000-\u200A\u202F\u205F\u3000]/g, " ").replace(/^@/, "");
}

/** Where `file` really is, also where it is still to be made; undefined where links go in a circle. */
function realOf(file: string, links = 0): string | undefined {
  const parent = path.dirname(file);
  if (parent === file) return file;
  const folder = realOf(parent, links);
  if (folder === undefined || links > 40) return undefined;
  const here = path.join(folder, path.basename(file));
  const isLink = lstatSync(here, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  return isLink ? realOf(path.resolve(folder, readlinkSync(here)), links + 1) : here;
}
