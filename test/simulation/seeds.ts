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
export type Totals = {
  seeds: number;
  simulatedHours: number;
  operations: number;
  points: number;
  calls: number;
  faults: Record<string, number>;
};

/**
 * Plays seeds, or the one of the environment, which prints all that happens. Returns what did not hold,
 * with how to play those seeds again.
 */
export async function playSeeds(
  seeds: Iterable<number>,
): Promise<{ totals: Totals; failed: string }> {
  const totals: Totals = {
    seeds: 0,
    simulatedHours: 0,
    operations: 0,
    points: 0,
    calls: 0,
    faults: {},
  };
  const failed: string[] = [];
  for (const seed of WANTED === undefined ? seeds : [Number(WANTED)]) {
    const lines: string[] = [];
    // Printed when it is over: while it lasts, whoever asks for the real time is refused.
    const played = await simulate(
      seed,
      WANTED === undefined ? undefined : (line) => void lines.push(line),
    );
    if (WANTED) console.log(lines.join("\n"));
    add(totals, played);
    if (played.problems.length > 0) failed.push(told(played));
    if (failed.length >= SHOWN) break;
  }
  if (MINUTES > 0) console.log(JSON.stringify(totals));
  return { totals, failed: failed.join("\n\n") };
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

function add(totals: Totals, played: Simulated): void {
  totals.seeds += 1;
  totals.simulatedHours += played.simulatedMs / 3_600_000;
  totals.operations += played.operations;
  totals.points += played.points;
  totals.calls += played.calls;
  for (const [fault, times] of played.faults) {
    totals.faults[fault] = (totals.faults[fault] ?? 0) + times;
  }
}
