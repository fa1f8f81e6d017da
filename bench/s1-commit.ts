import { check, megabytes, median, milliseconds, quantile } from "./harness.ts";
import type { Benchmark } from "./harness.ts";
import { residentBytes } from "./processes.ts";
import { makeProject, NOOP, type Project, writeJsonSpec } from "./project.ts";
import { commitAll, initRepository, movedAt } from "./repository.ts";
import {
  describePhases,
  isApplied,
  phasesOf,
  startSynced,
  type Synced,
  type Told,
} from "./synced.ts";

const CHANGED = 50;
/** Coprime to the number of specs, so that each commit changes others, all over the tree. */
const STRIDE = 7;
const MB = 1024 * 1024;

/** S1: from the branch's move to the report that everything is stored; and memory meanwhile. */
export const s1: Benchmark = {
  name: "S1",
  what: "commit to generations stored, 50 of 10,000 specs changed",
  async run({ quick }) {
    const count = quick ? 1_000 : 10_000;
    const project = makeProject(NOOP);
    for (let index = 0; index < count; index += 1) writeJsonSpec(project, index);
    await initRepository(project);
    const synced = await startSynced(project, count);
    const waits: number[] = [];
    const phases: ReturnType<typeof phasesOf>[] = [];
    const resident: number[] = [];
    const before = await generations(synced, project);
    const rounds = quick ? 5 : 25;
    for (let round = 0; round < rounds; round += 1) {
      const { wait, told } = await commitSome(synced, project, { count, round });
      resident.push(residentBytes(synced.host.pid));
      await synced.quiet();
      resident.push(residentBytes(synced.host.pid));
      // The first one meets code that has not run yet, as in every benchmark.
      if (round === 0) continue;
      waits.push(wait);
      phases.push(phasesOf(told));
    }
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    const idle = residentBytes(synced.host.pid);
    const made = (await generations(synced, project)) - before;
    check(made === CHANGED * rounds, `every commit makes ${CHANGED} generations: ${made} in all`);
    await synced.stop();
    const specs = `${count.toLocaleString("en")} specs`;
    return [
      {
        goal: "S1",
        what: `commit → all generations stored and reported, ${CHANGED} of ${specs} changed`,
        value: quantile(waits, 0.95),
        unit: "ms p95",
        limit: { atMost: 150 },
        absolute: `median ${milliseconds(median(waits))}: ${describePhases(phases)}; ${waits.length} commits`,
        detail: { waits: waits.map(Math.round).join(" ") },
      },
      {
        goal: "M1",
        what: `server memory under sync, ${specs}, idle`,
        value: idle / MB,
        unit: "MB",
        limit: { atMost: 90 },
        absolute: `resident ${megabytes(idle)}, 3 s after ${waits.length} commits`,
      },
      {
        goal: "M1",
        what: `server memory under sync, ${specs}, while commits are synced`,
        value: quantile(resident, 1) / MB,
        unit: "MB",
        limit: { atMost: 160 },
        absolute: `first commit ${megabytes(resident[0] ?? Number.NaN)}, last ${megabytes(resident.at(-1) ?? Number.NaN)}`,
      },
    ];
  },
};

async function commitSome(
  synced: Synced,
  project: Project,
  { count, round }: { count: number; round: number },
): Promise<{ wait: number; told: Told[] }> {
  const size = round + 2;
  const changed = Array.from(
    { length: CHANGED },
    (_, index) => ((round * CHANGED + index) * STRIDE) % count,
  );
  for (const index of changed) writeJsonSpec(project, index, size);
  const from = synced.told.length;
  const commit = await commitAll(project, `round ${round}`);
  const moved = movedAt(project);
  const last = await synced.next(isApplied(commit), from);
  const { counts } = last.status.report.attempted ?? {};
  check(
    counts?.update === CHANGED && counts.unchanged === count - CHANGED,
    "one plan has them all",
  );
  const told = synced.told.slice(from, synced.told.indexOf(last) + 1);
  return { wait: last.at - moved, told };
}

async function generations({ host }: Synced, project: Project): Promise<number> {
  const { resources } = await host.client.snapshot(project.root);
  return resources.reduce((sum, { generation }) => sum + generation, 0);
}
