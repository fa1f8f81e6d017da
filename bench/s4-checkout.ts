import { setTimeout as pause } from "node:timers/promises";
import { check, median, milliseconds, quantile } from "./harness.ts";
import type { Benchmark } from "./harness.ts";
import { clock } from "./host.ts";
import { makeProject, NOOP, writeJsonSpec } from "./project.ts";
import { commitAll, git, initRepository } from "./repository.ts";
import { startSynced } from "./synced.ts";

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
    for (let round = 0; round < (quick ? 4 : 20); round += 1) {
      const from = synced.told.length;
      await git(project, "checkout", "--quiet", round % 2 === 0 ? "other" : "main");
      const ended = clock();
      const plan = await synced.next(({ activity }) => activity.state === "applying", from);
      const done = await synced.next(
        ({ report }) => report.attempted?.counts?.update === count,
        synced.told.indexOf(plan),
      );
      await pause(LATER_MS);
      await synced.quiet();
      const attempts = synced.attemptsSince(from);
      check(attempts.length === 1, `a checkout is one plan, and not ${attempts.length}`);
      check(attempts[0]?.counts?.update === count, "the plan has every changed file");
      planned.push(plan.at - ended);
      stored.push(done.at - ended);
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
        absolute: `median ${milliseconds(median(planned))}, to all of it stored ${milliseconds(median(stored))}; ${planned.length} checkouts, as many plans`,
        detail: { planned: planned.map(Math.round).join(" ") },
      },
    ];
  },
};
