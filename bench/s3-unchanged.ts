import { readdirSync, statSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { check, elapsed, interleave, median, medianRatio, milliseconds } from "./harness.ts";
import type { Benchmark, Figure } from "./harness.ts";
import { makeProject, NOOP, type Project, writeJsonSpec } from "./project.ts";
import { commitAll, initRepository, movedAt } from "./repository.ts";
import { isApplied, startSynced } from "./synced.ts";

/** S3, through a server: a new commit with the same tree; and a look at the work tree on request. */
export const s3Unchanged: Benchmark = {
  name: "S3",
  what: "sync of 10,000 specs with nothing changed, through a server",
  async run({ quick }) {
    const count = quick ? 1_000 : 10_000;
    return [await sameTree(count, quick ? 5 : 15), await onRequest(count, quick ? 5 : 11)];
  },
};

async function sameTree(count: number, rounds: number): Promise<Figure> {
  const project = specsOf(count);
  await initRepository(project);
  const synced = await startSynced(project, count);
  const waits: number[] = [];
  for (let round = -1; round < rounds; round += 1) {
    const from = synced.told.length;
    const commit = await commitAll(project, `nothing ${round}`);
    const moved = movedAt(project);
    const { at, status } = await synced.next(isApplied(commit), from);
    check(status.report.attempted?.counts?.unchanged !== undefined, "the report has its counts");
    if (round >= 0) waits.push(at - moved);
    await synced.quiet();
  }
  await synced.stop();
  return {
    goal: "S3",
    what: `commit with the same tree → reported, ${count.toLocaleString("en")} specs`,
    value: median(waits),
    unit: "ms",
    limit: { atMost: 30 },
    absolute: `median of ${rounds}; 15 ms of it wait for git to be done`,
    detail: { waits: waits.map(Math.round).join(" ") },
  };
}

async function onRequest(count: number, rounds: number): Promise<Figure> {
  const project = specsOf(count);
  const synced = await startSynced(project, count, { workingTree: true });
  // Files that changed within the last two seconds are read again.
  await pause(2_500);
  const samples = await interleave(rounds, {
    raw: () =>
      elapsed(() => check(statAll(project.specs) === count, "a bare walk sees every file")),
    sync: () =>
      elapsed(async () => {
        const { report } = await synced.host.client.syncNow(project.root);
        check(report.attempted?.counts?.unchanged === count, "the sync sees every spec");
      }),
  });
  await synced.stop();
  return {
    goal: "S3",
    what: `sync now of an unchanged work tree, ${count.toLocaleString("en")} specs: scan, plan against the store, report`,
    value: medianRatio(samples.sync, samples.raw),
    unit: "× raw",
    absolute: `${milliseconds(median(samples.sync))} (bare walk and stat: ${milliseconds(median(samples.raw))})`,
  };
}

function specsOf(count: number): Project {
  const project = makeProject(NOOP);
  for (let index = 0; index < count; index += 1) writeJsonSpec(project, index);
  return project;
}

function statAll(folder: string): number {
  let count = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const file = `${folder}/${entry.name}`;
    if (entry.isDirectory()) count += statAll(file);
    else if (statSync(file, { bigint: true }).isFile()) count += 1;
  }
  return count;
}
