import { mkdirSync, statfsSync, writeFileSync } from "node:fs";
import os from "node:os";
import Table from "cli-table3";
import { BENCHMARKS } from "./benchmarks.ts";
import { isMet, type Benchmark, type Figure } from "./harness.ts";
import { removeWorkspaces, workRoot } from "./workspace.ts";

const RESULTS = ".bench/results.json";

type Outcome = { benchmark: string; seconds: number; figures: Figure[]; error?: string };

// What a failed benchmark left running would keep this process alive.
process.exit(await main(process.argv.slice(2)));

async function main(args: string[]): Promise<number> {
  if (args.includes("--list")) {
    for (const { name, what } of BENCHMARKS) console.log(`${name.padEnd(6)} ${what}`);
    return 0;
  }
  const quick = args.includes("--quick");
  const chosen = choose(args.filter((arg) => !arg.startsWith("-")));
  if (typeof chosen === "string") {
    console.error(chosen);
    return 2;
  }
  const outcomes: Outcome[] = [];
  for (const benchmark of chosen) {
    console.error(`${benchmark.name.padEnd(6)} ${benchmark.what} …`);
    outcomes.push(await measure(benchmark, quick));
  }
  removeWorkspaces();
  report(outcomes, quick);
  return outcomes.some(({ error }) => error !== undefined) ? 1 : 0;
}

function choose(names: string[]): Benchmark[] | string {
  if (names.length === 0) return BENCHMARKS.filter(({ onDemand }) => onDemand !== true);
  const chosen: Benchmark[] = [];
  for (const name of names) {
    const found = BENCHMARKS.filter(
      (benchmark) => benchmark.name.toLowerCase() === name.toLowerCase(),
    );
    if (found.length === 0)
      return `no benchmark ${name}; there are ${[...new Set(BENCHMARKS.map((b) => b.name))].join(", ")}`;
    chosen.push(...found);
  }
  return chosen;
}

async function measure(benchmark: Benchmark, quick: boolean): Promise<Outcome> {
  const start = performance.now();
  const seconds = () => Math.round((performance.now() - start) / 100) / 10;
  try {
    const figures = await benchmark.run({ quick });
    return { benchmark: benchmark.name, seconds: seconds(), figures };
  } catch (error) {
    console.error(error);
    const message = error instanceof Error ? error.message : String(error);
    return { benchmark: benchmark.name, seconds: seconds(), figures: [], error: message };
  }
}

function report(outcomes: Outcome[], quick: boolean): void {
  const table = new Table({
    head: ["goal", "what", "measured", "wanted", "absolute", "met"],
    style: { head: [], border: [] },
    colWidths: [7, 48, 18, 18, 46, 5],
    wordWrap: true,
  });
  for (const { benchmark, figures, error } of outcomes) {
    if (error !== undefined) {
      table.push([benchmark, { colSpan: 5, content: `failed: ${error}` }]);
    }
    for (const figure of figures) table.push(row(figure));
  }
  console.log(table.toString());
  const conditions = {
    at: new Date().toISOString(),
    quick,
    node: process.version,
    cpus: os.cpus().length,
    cpu: os.cpus()[0]?.model ?? "unknown",
    loadAverage: os.loadavg()[0]?.toFixed(2),
    platform: `${os.platform()} ${os.release()}`,
    filesystem: `0x${statfsSync(workRoot()).type.toString(16)}`,
  };
  mkdirSync(".bench", { recursive: true });
  writeFileSync(RESULTS, `${JSON.stringify({ conditions, outcomes }, null, 2)}\n`);
  console.log(`${RESULTS}${quick ? " (--quick: not to judge by)" : ""}`);
}

function row(figure: Figure): string[] {
  const met = isMet(figure);
  return [
    figure.goal,
    figure.what,
    `${Number(figure.value.toPrecision(3))} ${figure.unit}`,
    wanted(figure),
    figure.absolute,
    met === undefined ? "–" : met ? "yes" : "NO",
  ];
}

function wanted({ limit, unit }: Figure): string {
  if (limit === undefined) return "–";
  return "atLeast" in limit ? `≥ ${limit.atLeast} ${unit}` : `≤ ${limit.atMost} ${unit}`;
}
