import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { check, median, milliseconds, quantile } from "./harness.ts";
import type { Benchmark, Figure } from "./harness.ts";
import { startHost } from "./host.ts";
import { COMMAND, runNode } from "./processes.ts";
import { makeProject, NOOP, type Project, writeJsonSpec, writeTypeScriptSpec } from "./project.ts";

const SPECS = 100;
/** Between two saves: a person looks at the plan first. */
const PAUSE_MS = 1_000;

/** S2: from a save to the plan that `diff --watch` prints for it. */
export const s2: Benchmark = {
  name: "S2",
  what: "save to plan on screen, JSON and TypeScript",
  async run({ quick }) {
    const saves = quick ? 5 : 25;
    return [
      await measure("JSON", { saves, atMost: 100, write: writeJsonSpec }),
      await measure("TypeScript", { saves, atMost: 250, write: writeTypeScriptSpec }),
    ];
  },
};

type Kind = {
  saves: number;
  atMost: number;
  write: (project: Project, index: number, size?: number) => void;
};

async function measure(kind: string, { saves, atMost, write }: Kind): Promise<Figure> {
  const project = makeProject(NOOP);
  for (let index = 0; index < SPECS; index += 1) write(project, index);
  const host = await startHost(project, 2);
  const inProject = { cwd: project.root, env: project.env };
  await runNode([COMMAND, "apply", "-f", project.specs], inProject);
  const screen = watchDiff(project);
  await screen.shows(`${SPECS} unchanged`);
  const waits: number[] = [];
  for (let save = 1; save <= saves + 1; save += 1) {
    await pause(PAUSE_MS);
    const start = performance.now();
    write(project, save, 2);
    const at = await screen.shows(`\n${save} to update, ${SPECS - save} unchanged`);
    // The first one meets code that has not run yet.
    if (save > 1) waits.push(at - start);
  }
  await screen.close();
  await host.stop();
  return {
    goal: "S2",
    what: `save → plan on screen, one of ${SPECS} ${kind} specs`,
    value: quantile(waits, 0.95),
    unit: "ms p95",
    limit: { atMost },
    absolute: `median ${milliseconds(median(waits))}; ${saves} saves`,
    detail: { waits: waits.map(Math.round).join(" ") },
  };
}

function watchDiff(project: Project) {
  const child = spawn(process.execPath, [COMMAND, "diff", "--watch", "-f", project.specs], {
    cwd: project.root,
    env: { ...process.env, NO_COLOR: "1", ...project.env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let shown = "";
  let onShown = (): void => {};
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    shown += text;
    onShown();
  });
  return {
    /** Resolves with the time at which `text` is printed; what came before it is forgotten. */
    shows: (text: string) =>
      new Promise<number>((resolve, reject) => {
        const late = setTimeout(() => {
          reject(new Error(`the benchmark's own check failed: no ${text} in:\n${shown}`));
        }, 30_000);
        onShown = () => {
          if (!shown.includes(text)) return;
          clearTimeout(late);
          shown = "";
          onShown = () => undefined;
          resolve(performance.now());
        };
        onShown();
      }),
    async close() {
      const gone = once(child, "exit");
      child.kill("SIGINT");
      const [code] = await gone;
      check(code !== null, "diff --watch ends on Ctrl-C");
    },
  };
}
