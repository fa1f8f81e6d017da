import { count } from "../support/figures.ts";
import type { Happening } from "./faults.ts";
import { simulate, type Simulated } from "./simulate.ts";

/** How many seeds a run of all tests plays; `npm test` plays more than a bare vitest. */
const SEEDS = Number(process.env["SIMULATION_SEEDS"] ?? 60);

/** For `npm run soak`: plays new seeds for so long instead. Minutes. */
const MINUTES = Number(process.env["SOAK_MINUTES"] ?? 0);

/** What a test that plays seeds may take. Milliseconds. */
export const LIMIT_MS = 10 * 60_000 + MINUTES * 2 * 60_000;

const WANTED = process.env["SEED"];
const SHOWN = 5;

/** What many seeds came to, all in all. */
export type Played = {
  seeds: number;
  faults: ReadonlyMap<Happening, number>;
  /** What did not hold, with how to play those seeds again. */
  failed: string;
};

/** Plays seeds, or the one of the environment, which prints all that happens. */
export async function playSeeds(seeds: Iterable<number>): Promise<Played> {
  const faults = new Map<Happening, number>();
  const failed: string[] = [];
  let played = 0;
  for (const seed of WANTED === undefined ? seeds : [Number(WANTED)]) {
    const lines: string[] = [];
    // Printed when it is over: while it lasts, whoever asks for the real time is refused.
    const trace = WANTED === undefined ? undefined : (line: string) => void lines.push(line);
    const one = await simulate(seed, trace);
    if (WANTED) console.log(lines.join("\n"));
    played += 1;
    tell(one);
    for (const [fault, times] of one.faults) faults.set(fault, (faults.get(fault) ?? 0) + times);
    if (one.problems.length > 0) failed.push(told(one));
    if (failed.length >= SHOWN) break;
  }
  return { seeds: played, faults, failed: failed.join("\n\n") };
}

/** Every so many-th seed, so that several files of tests share them. */
export function* share(part: number, parts: number): Generator<number, void> {
  const until = process.uptime() + MINUTES * 60;
  // Others each time that it is asked for by the minute, and none that were played before.
  const first = MINUTES > 0 ? Math.trunc(Date.now() / 1_000) * parts : 1;
  const last = MINUTES > 0 ? Number.MAX_SAFE_INTEGER : SEEDS;
  for (let seed = first + part; seed <= last; seed += parts) {
    if (MINUTES > 0 && process.uptime() > until) return;
    yield seed;
  }
}

function told({ seed, problems }: Simulated): string {
  return `${problems.join("\n")}\nAgain: SEED=${seed} npx vitest run test/simulation`;
}

function tell({ simulatedMs, operations, points, calls, faults }: Simulated): void {
  count("seeds", 1);
  count("simulated hours", simulatedMs / 3_600_000);
  count("operations, each checked", operations);
  count("points at which it could die", points);
  count("calls of the provider", calls);
  for (const [fault, times] of faults) count(fault, times);
}
