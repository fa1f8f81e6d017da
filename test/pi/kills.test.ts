import { expect, it } from "vitest";
import { processesWith } from "../../src/runner/process-table.ts";
import { eventually } from "../e2e/stage.ts";
import { acceptAll } from "../server/runs/real-runs.ts";
import { count } from "../support/figures.ts";
import { randomOf } from "../sync/random-git.ts";
import { NEWEST_PI } from "./support/installed.ts";
import { content, KILLED_AT, KILL_WORKFLOW } from "./support/kill-workflow.ts";
import { KilledRuns, type Plan } from "./support/killed-runs.ts";
import { Killing, VICTIMS, type Victim } from "./support/killing.ts";
import { setPiStage } from "./support/stage.ts";

// A kill for each run. `npm run soak` does two hundred; a failure names the seed that repeats its
// plan, though not the times that the machine took.
const RUNS = Number(process.env["KILLED_RUNS"] ?? 6);
const SEED = Number(process.env["KILLED_RUNS_SEED"] ?? Date.now() % 1_000_000_000);
it(
  "kill -9 of the server, of runners and of Pi at random instants: every run ends as it would have, nothing is lost, nothing manual happens twice",
  async (test) => {
    const { stage, machine, provider } = await setPiStage(test, NEWEST_PI);
    for (const [file, text] of Object.entries(KILL_WORKFLOW)) stage.write(file, text);
    provider.answerBy(content);
    const random = randomOf(SEED);
    const killing = await Killing.begin(stage, random);
    await killing.ask((client) => acceptAll(client, stage.project));
    const runs = new KilledRuns(stage, killing);
    try {
      await runs.all(Array.from({ length: RUNS }, () => planOf(random)));
      await stage.stopServers();
      await nothingIsLeft([stage.root, machine.root]);
      const problems = stage.inspect((database) => database.pragma("integrity_check"));
      expect(problems).toEqual([{ integrity_check: "ok" }]);
      count("runs killed once each, and ended", RUNS);
      count("kills of a run's server", killing.times("server"));
      count("kills of a run's runner", killing.times("runner"));
      count("kills of a run's Pi", killing.times("Pi"));
    } catch (cause) {
      const how = `KILLED_RUNS_SEED=${SEED} KILLED_RUNS=${RUNS}\n${killing.log.join("\n")}`;
      throw new Error(`${how}\n${String(cause)}`, { cause });
    }
  },
  120_000 + RUNS * 20_000,
);

function planOf(random: () => number): Plan {
  const victim = VICTIMS[Math.floor(random() * VICTIMS.length)] as Victim;
  const nodes = KILLED_AT[victim];
  const node = nodes[Math.floor(random() * nodes.length)] as string;
  const span = KILLED_AT.Pi.includes(node) ? 1_500 : 150;
  return { victim, node, delayMs: Math.floor(random() * span) };
}

/** Resolves when nothing runs whose environment names one of the folders. */
function nothingIsLeft(folders: readonly string[]): Promise<void> {
  return eventually(() => {
    const left = processesWith((entries) =>
      entries.some((entry) => folders.some((folder) => entry.includes(folder))),
    );
    if (left.length > 0) throw new Error(`still running: ${left.join(", ")}`);
  });
}
