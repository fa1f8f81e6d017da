import fc from "fast-check";
import { VERBS } from "../../../src/cli/verbs.ts";
import type { Argument, Completion, Flag, Verb } from "../../../src/cli/verb.ts";

/** One verb that does something, with the words that lead to it. */
type Way = { words: string[]; verb: Verb };

function waysTo(verbs: readonly Verb[], above: string[] = []): Way[] {
  return verbs.flatMap((verb) => {
    const words = [...above, verb.name];
    const own = verb.load === undefined ? [] : [{ words, verb }];
    return [...own, ...waysTo(verb.verbs ?? [], words)];
  });
}

export const WAYS = waysTo(VERBS);

/** Words of every kind where another was expected. None leads out of the folder of a test. */
const ODD = [
  "",
  " ",
  "-",
  "--",
  "-x",
  "--nope=1",
  "@",
  "@missing.json",
  "@specs",
  "{}",
  "[1,",
  '{"__proto__":{"polluted":true}}',
  '{"a":'.repeat(700) + "1" + "}".repeat(700),
  "null",
  "0",
  "-1",
  "1e9",
  "9".repeat(300),
  "\u001b[2J",
  "\u001b]0;x\u0007",
  "\u202etxt",
  "\ud800",
  "💥",
  "a=b",
  "=",
  "ready",
  "condition=A=false",
  "25%",
  "5ms",
  "x".repeat(20_000),
  "%s%n$(id)`id`",
  "a\nb\r\nc",
  "__proto__",
  "constructor",
  "*",
  ":(glob)**",
];

/** Words that fit, by what a place takes; `value` where nothing else is known of it. */
export type Fitting = Readonly<Partial<Record<Completion | "value", readonly string[]>>>;

/** Streams and waits go on for as long as they are let. */
const ENDLESS = /--(?:watch|follow|wait)\b/;
/** What a person may ask for. */
const ALLOWED = /--(?:show-secrets|verbose)\b/;

const odd = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...ODD) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 20 }) },
);

type Place = Pick<Argument & Flag, "choices" | "complete">;

/** A word for a place, most often one that fits. */
function wordFor({ choices, complete }: Place, fitting: Fitting): fc.Arbitrary<string> {
  const fits = choices ?? (complete && fitting[complete]) ?? fitting.value ?? [];
  return fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...fits) },
    { weight: 1, arbitrary: odd },
  );
}

function flagWords(flag: Flag, fitting: Fitting): fc.Arbitrary<string[]> {
  const name = /--[\w-]+/.exec(flag.flags)?.[0] ?? flag.flags;
  if (!/[<[]/.test(flag.flags)) return fc.constant([name]);
  const values = wordFor(flag, flag.parse === undefined ? fitting : { value: PARSED });
  return fc.oneof(
    values.map((value) => [name, value]),
    values.map((value) => [`${name}=${value}`]),
  );
}

/** Of flags whose values are read further. */
const PARSED = ["5ms", "1", "25%", "ready", "team=a", "condition=A"];

/** A command line of one of the verbs: operands and flags that fit, odd ones among them. */
export function commandLines(ways: readonly Way[], fitting: Fitting): fc.Arbitrary<string[]> {
  return fc.constantFrom(...ways).chain(({ words, verb }) => {
    const flags = (verb.flags ?? []).filter(
      (flag) => !ENDLESS.test(flag.flags) && !ALLOWED.test(flag.flags),
    );
    const oneFlag = fc.oneof(
      fc.constant<string[]>([]),
      ...flags.map((one) => flagWords(one, fitting)),
    );
    const operands = fc.tuple(...(verb.arguments ?? []).map((one) => wordFor(one, fitting)));
    const more = fc.oneof(
      { weight: 7, arbitrary: fc.constant<string[]>([]) },
      { weight: 1, arbitrary: fc.array(odd, { maxLength: 2 }) },
    );
    return fc
      .tuple(operands, more, fc.array(oneFlag, { maxLength: 3 }))
      .map(([given, extra, flagged]) => [...words, ...given, ...extra, ...flagged.flat()]);
  });
}
