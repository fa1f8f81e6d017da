import type { RunnerPort } from "../runner/port.ts";

/** The child processes of all runners, and how many of them work. */
export function statsOf(runners: Record<"pool" | "local" | "maps", RunnerPort>): {
  alive: number;
  busy: number;
} {
  const all = [runners.pool, runners.local, runners.maps].map((runner) => runner.stats());
  const total = (of: "alive" | "busy") => all.reduce((sum, stats) => sum + stats[of], 0);
  return { alive: total("alive"), busy: total("busy") };
}
