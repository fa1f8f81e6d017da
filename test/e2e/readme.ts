import { readFileSync } from "node:fs";
import path from "node:path";

const README = path.resolve(import.meta.dirname, "../../README.md");

/** One fenced block of the README. */
export type Block = {
  language: string;
  text: string;
  /** The file of the repository that the comment above it says it is. */
  snippet?: string;
};

/** The blocks of the section under a heading, in order. */
export function blocksOf(heading: string): Block[] {
  const text = readFileSync(README, "utf8");
  const begin = text.indexOf(`\n## ${heading}`);
  if (begin < 0) throw new Error(`README.md has no section ${heading}`);
  const end = text.indexOf("\n## ", begin + 1);
  const section = text.slice(begin, end < 0 ? undefined : end);
  const blocks = /(?:<!-- snippet: (\S+) -->\n)?^```(\w+)\n([\s\S]*?)^```$/gm;
  return [...section.matchAll(blocks)].map(([, snippet, language = "", body = ""]) => ({
    language,
    text: body,
    ...(snippet === undefined ? {} : { snippet }),
  }));
}
