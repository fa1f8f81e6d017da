import { setTimeout as pause } from "node:timers/promises";
import { check, median, milliseconds, quantile } from "./harness.ts";
import type { Benchmark } from "./harness.ts";
import { makeProject, NOOP, writeJsonSpec } from "./project.ts";
import { commitAll, git, initRepository } from "./repository.ts";
import { beginOf, describePhases, phasesOf, startSynced } from "./synced.ts";

/** Long enough for a second plan, if there were one. */
const LATER_MS = 1_500;

/** S4, through a server: what a checkout changed is one plan. */
export const s4Checkout: Benchmark = {
  name: "S4",
  what: "git checkout of 1,000 changed files, working-tree mode, through a server",
  async run({ quick }) {
    const count = quick ? 100 : 1_000;
    const project = makeProject(NOOP);
    for (let index = 0; index < count; index += 1) writeJsonSpec(project, index);
    await initRepository(project);
    await git(project, "checkout", "--quiet", "-b", "other");
    for (let index = 0; index < count; index += 1) writeJsonSpec(project, index, 2);
    await commitAll(project, "two");
    await git(project, "checkout", "--quiet", "main");

    const synced = await startSynced(project, count, { workingTree: true });
    const planned: number[] = [];
    const stored: number[] = [];
    const phases: ReturnType<typeof phasesOf>[] = [];
    for (let round = 0; round < (quick ? 4 : 20); round += 1) {
      const from = synced.told.length;
      const begun = Date.now();
      await git(project, "checkout", "--quiet", round % 2 === 0 ? "other" : "main");
      const ended = Date.now();
      const done = await synced.next(
        ({ report: { attempted } }) => attempted !== undefined && attempted.at > begun,
        from,
      );
      const told = synced.told.slice(from, synced.told.indexOf(done) + 1);
      await pause(LATER_MS);
      await synced.quiet();
      const [attempt, ...others] = synced.attemptsSince(from);
      check(attempt !== undefined && others.length === 0, "a checkout is one plan");
      check(attempt.counts?.update === count, "the plan has every changed file");
      planned.push(beginOf(told, "applying") - ended);
      stored.push(attempt.at + attempt.durationMs - ended);
      phases.push(phasesOf(told));
    }
    await synced.stop();
    const what = `git's end → the one plan, ${count.toLocaleString("en")} changed files`;
    return [
      {
        goal: "S4",
        what: `${what}, made by a server that syncs them`,
        value: quantile(planned, 0.95),
        unit: "ms p95",
        limit: { atMost: 300 },
        absolute: `median ${milliseconds(median(planned))}, to all of it stored ${milliseconds(median(stored))} (${describePhases(phases)}); ${planned.length} checkouts, as many plans`,
        detail: { planned: planned.map(Math.round).join(" ") },
      },
    ];
  },
};
