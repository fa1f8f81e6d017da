import { setTimeout as pause } from "node:timers/promises";
import { check, median, milliseconds, quantile } from "./harness.ts";
import type { Benchmark } from "./harness.ts";
import { makeProject, NOOP, widgetKey, writeJsonSpec } from "./project.ts";
import { commitAll, initRepository, movedAt } from "./repository.ts";
import { describePhases, isApplied, phasesOf, startSynced } from "./synced.ts";

const SPECS = 100;

/** S5: from the branch's move to the end of the changed resource's pass. */
export const s5: Benchmark = {
  name: "S5",
  what: "commit to resource settled by a warm manager, one spec",
  async run({ quick }) {
    const rounds = quick ? 5 : 30;
    const project = makeProject(NOOP);
    for (let index = 0; index < SPECS; index += 1) writeJsonSpec(project, index);
    await initRepository(project);
    const synced = await startSynced(project, SPECS);
    const ref = { project: project.root, resourceManager: "widget", key: widgetKey(0) };
    const waits: number[] = [];
    const phases: ReturnType<typeof phasesOf>[] = [];
    for (let round = -1; round < rounds; round += 1) {
      await pause(500);
      const size = round + 10;
      writeJsonSpec(project, 0, size);
      const { done } = await synced.host.expect(1);
      const from = synced.told.length;
      const commit = await commitAll(project, `size ${size}`);
      const moved = movedAt(project);
      const { at } = await done;
      const last = await synced.next(isApplied(commit), from);
      const stored = await synced.host.client.get(ref);
      check(stored !== undefined, "the resource is stored");
      const { metadata, spec, status } = stored.resource;
      check(
        status.observedGeneration === metadata.generation &&
          (spec as { size: number }).size === size,
        "the committed generation is settled",
      );
      if (round < 0) continue;
      waits.push(at - moved);
      phases.push(phasesOf(synced.told.slice(from, synced.told.indexOf(last) + 1)));
    }
    await synced.quiet();
    await synced.stop();
    return [
      {
        goal: "S5",
        what: `commit → resource settled by a warm manager, one of ${SPECS} specs`,
        value: quantile(waits, 0.95),
        unit: "ms p95",
        limit: { atMost: 250 },
        absolute: `median ${milliseconds(median(waits))}: ${describePhases(phases)}; ${rounds} commits`,
        detail: { waits: waits.map(Math.round).join(" ") },
      },
    ];
  },
};
