import { createContext, Script } from "node:vm";
import { Random } from "../../simulation/random.ts";
import type { Coverage } from "./coverage.ts";
import { editAt } from "./inputs.ts";

/** What takes inputs: it may neither throw nor go on without end, whatever they are. */
export type Target = {
  /** Inputs to begin with. */
  samples: readonly (string | Uint8Array)[];
  /** Inputs that CI has time for. */
  share: number;
  take: (input: Buffer) => void;
};

/**
 * Asking for the coverage takes as long as some twenty inputs, so it is asked of many at once while
 * there is no news; of a few where there is, since they are then gone through one by one.
 */
const BATCH = { least: 4, most: 128 };
/** A batch that takes this long goes on without end: milliseconds. */
const ENDLESS_MS = 20_000;
/** Bytes. Longer ones meet the same code, slowly. */
const LONGEST = 2_048;

/**
 * Tries inputs on a target. Each is made of an earlier one, and one that made code run that had not
 * run before is kept, to make others of. Returns those that were kept. Throws where one fails, with
 * the seed, which makes the same inputs again.
 */
export function explore(
  { samples, take }: Pick<Target, "samples" | "take">,
  { inputs, seed, coverage }: { inputs: number; seed: number; coverage: Coverage },
): Buffer[] {
  const random = new Random(seed);
  const kept: Buffer[] = samples.map((sample) => Buffer.from(sample as string));
  const attempt = (batch: readonly Buffer[]) => runBounded(() => feed(take, batch, seed), seed);
  attempt(kept);
  coverage.learn(coverage.take());
  let size = BATCH.least;
  for (let left = inputs; left > 0;) {
    const batch = Array.from({ length: Math.min(size, left) }, () => mutated(kept, random));
    left -= batch.length;
    attempt(batch);
    const ran = coverage.take();
    if (!coverage.isNew(ran)) {
      size = Math.min(BATCH.most, size * 2);
      continue;
    }
    size = BATCH.least;
    for (const input of batch) {
      attempt([input]);
      const alone = coverage.take();
      if (coverage.isNew(alone)) kept.push(input);
      coverage.learn(alone);
    }
    // Also what runs only once in a process.
    coverage.learn(ran);
  }
  return kept;
}

function feed(take: Target["take"], batch: readonly Buffer[], seed: number): void {
  for (const input of batch) {
    try {
      take(input);
    } catch (cause) {
      const shown = JSON.stringify(input.toString("latin1"));
      throw new Error(`seed ${seed}, input ${shown} (as latin1)`, { cause });
    }
  }
}

const WORK = new Script("work()");
const context = createContext({});

/** Runs what may never end, and throws where it does not. */
function runBounded(work: () => void, seed: number): void {
  try {
    context["work"] = work;
    WORK.runInContext(context, { timeout: ENDLESS_MS });
  } catch (thrown) {
    const isEndless = (thrown as NodeJS.ErrnoException).code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
    throw isEndless ? new Error(`seed ${seed}: no end of it`, { cause: thrown }) : thrown;
  }
}

/** A few changes to one of the inputs: to the value where it is JSON, or to its bytes. */
function mutated(kept: readonly Buffer[], random: Random): Buffer {
  let input: Buffer = random.pick(kept);
  for (let left = random.between(1, 4); left > 0; left -= 1) {
    const change = random.chance(0.4) ? changeValue : random.pick(CHANGES);
    input = change(input, random, kept).subarray(0, LONGEST);
  }
  return input;
}

type Change = (input: Buffer, random: Random, kept: readonly Buffer[]) => Buffer;

const changeValue: Change = (input, random) => {
  let value: unknown;
  try {
    value = JSON.parse(input.toString());
  } catch {
    return input;
  }
  const edit = {
    at: random.between(0, 1_000),
    how: random.pick(["replace", "remove", "add", "repeat"] as const),
    odd: random.between(0, 1_000),
  };
  return Buffer.from(JSON.stringify(editAt(value, edit)) ?? "");
};

/** What texts of many kinds are made of. */
const PIECES =
  '"|\\|{|}|[|]|:|,|//|/*|*/|\n|\r\n|\0|\u001b[2J|\u202e|\ufeff|é|💥|\\u0000|\\ud800|__proto__|' +
  "null|true|-1|0.5|1e999|9007199254740993|99999999999999999999|..|../|@|%|*|?|-|--|=|[]|$ref|5m|* * * * *";

const CHANGES: readonly Change[] = [
  (input, random) => {
    const copy = Buffer.from(input);
    if (copy.length > 0) copy[random.between(0, copy.length - 1)] = random.between(0, 255);
    return copy;
  },
  (input, random) => {
    const [from, to] = range(input, random);
    return Buffer.concat([input.subarray(0, from), input.subarray(to)]);
  },
  (input, random) => {
    const [from, to] = range(input, random);
    return insert(input, input.subarray(from, to), random);
  },
  (input, random) => insert(input, Buffer.from(random.pick(PIECES.split("|"))), random),
  (input, random, kept) => {
    const other = random.pick(kept);
    const [from, to] = range(other, random);
    return insert(input, other.subarray(from, to), random);
  },
  (input, random) => {
    const [from, to] = range(input, random);
    const part = input.subarray(from, Math.min(to, from + 16));
    return insert(input, Buffer.concat(Array.from({ length: 40 }, () => part)), random);
  },
];

function range({ length }: Buffer, random: Random): [from: number, to: number] {
  const from = random.between(0, length);
  return [from, Math.min(length, from + random.between(1, 64))];
}

function insert(input: Buffer, piece: Uint8Array, random: Random): Buffer {
  const at = random.between(0, input.length);
  return Buffer.concat([input.subarray(0, at), piece, input.subarray(at)]);
}
