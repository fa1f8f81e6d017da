/** What a benchmark found for one goal. */
export type Figure = {
  /** The goal's name, e.g. `P1`. */
  goal: string;
  what: string;
  /** The measured value that the goal speaks of, in `unit`. */
  value: number;
  unit: string;
  /** Absent for a figure that stands beside others and is no goal itself. */
  limit?: { atLeast: number } | { atMost: number };
  /** The order of size on this machine, for people. */
  absolute: string;
  /** Everything else that was measured, for the JSON. */
  detail?: Record<string, number | string>;
};

export type Options = {
  /** Smaller sizes and fewer rounds: to see that a benchmark works, not to judge by. */
  quick: boolean;
};

export type Benchmark = {
  /** Its name on the command line; the goals it measures begin with it. */
  name: string;
  what: string;
  /** Not part of the default set. */
  onDemand?: boolean;
  run(options: Options): Promise<Figure[]>;
};

export function isMet({ value, limit }: Figure): boolean | undefined {
  if (limit === undefined) return undefined;
  return "atLeast" in limit ? value >= limit.atLeast : value <= limit.atMost;
}

/**
 * Measures each subject once per round, in turns, so that whatever else the machine does meets all
 * of them alike; every other round goes backwards. A subject returns its own measure.
 * One round before the first warms up and is not counted.
 */
export async function interleave<Name extends string>(
  rounds: number,
  subjects: Record<Name, () => Promise<number> | number>,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(subjects) as Name[];
  const samples = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<
    Name,
    number[]
  >;
  for (let round = -1; round < rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const measure = await subjects[name]();
      if (round >= 0) samples[name].push(measure);
    }
  }
  return samples;
}

/** The median over the rounds of `numerator / denominator` of the same round. */
export function medianRatio(numerator: number[], denominator: number[]): number {
  return median(numerator.map((value, round) => value / (denominator[round] ?? Number.NaN)));
}

export function median(values: number[]): number {
  return quantile(values, 0.5);
}

/** The smallest value that at least the fraction `q` of `values` does not exceed. */
export function quantile(values: number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)];
  if (value === undefined) throw new Error("a quantile of no values");
  return value;
}

/** Milliseconds that `work` takes. */
export async function elapsed(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Stops a benchmark whose own result is not what it must be: its figure would mean nothing. */
export function check(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(`the benchmark's own check failed: ${what}`);
}

/** Polls until `condition` holds. For set-up and for results with no signal; never inside a measure. */
export async function until(
  condition: () => Promise<boolean> | boolean,
  what: string,
  timeoutMs = 60_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    check(performance.now() < deadline, `${what} within ${timeoutMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export function perSecond(rate: number): string {
  return `${Math.round(rate).toLocaleString("en")}/s`;
}

export function milliseconds(ms: number): string {
  return ms < 10 ? `${ms.toFixed(2)} ms` : `${Math.round(ms).toLocaleString("en")} ms`;
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
