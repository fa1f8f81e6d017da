import { createContext, Script } from "node:vm";

/** What Ajv needs of a regular expression. */
type Pattern = {
  test: (text: string) => boolean;
  /** Ajv takes those of one text for the same. */
  toString: () => string;
};

/** Longest text that any pattern without surprises is tried on as it is: characters. */
const SHORT = 256;
/** For one try of another one. Longer than a busy machine keeps a process waiting. */
const LIMIT_MS = 500;

/** A pattern that did not come to an end. */
export class PatternTooSlow extends Error {
  constructor(pattern: string, text: string) {
    super(
      `the pattern ${pattern} is too slow to try on a text of ${text.length} characters; ` +
        "write it without repeats in repeats, or bound the text's length",
    );
  }
}

/**
 * A regular expression of somebody's JSON Schema. V8 tries ways to match without end for some, and
 * schemas are checked by a server that others wait for: where that could happen, a try is given up
 * (`PatternTooSlow`).
 */
export function boundedPattern(source: string, flags: string): Pattern {
  const pattern = new RegExp(source, flags);
  const isTame = !mayExplode(source);
  return {
    toString: () => String(pattern),
    test: (text) =>
      isTame && text.length <= SHORT ? pattern.test(text) : testWithin(pattern, text, LIMIT_MS),
  };
}

const UNBOUNDED = /(?:[*+]|\{\d*,\d*\})/g;

/** False only where the ways to match grow at most with the square of the text. */
function mayExplode(source: string): boolean {
  const repeats = source.match(UNBOUNDED) ?? [];
  return repeats.length > 2 || /\)(?:[*+?]|\{)/.test(source) || /\\[1-9k]/.test(source);
}

const TEST = new Script("pattern.test(text)");

function testWithin(pattern: RegExp, text: string, timeout: number): boolean {
  try {
    return TEST.runInContext(createContext({ pattern, text }), { timeout }) as boolean;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw thrown;
    throw new PatternTooSlow(String(pattern), text);
  }
}

/** Ajv's option; it writes `code` into checks that are compiled ahead, which these are not. */
export const BOUNDED_PATTERNS = Object.assign(boundedPattern, { code: "boundedPattern" });
