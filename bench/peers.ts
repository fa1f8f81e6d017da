import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { program, runNode } from "./processes.ts";
import { check, interleave, median } from "./harness.ts";
import type { Benchmark, Figure } from "./harness.ts";
import { applySpecs, startHost, type Host } from "./host.ts";
import { NOOP, makeProject } from "./project.ts";
import { makeWorkspace } from "./workspace.ts";

/** Queues that need no server and bring no native code of their own; both run on better-sqlite3. */
const PEERS = { plainjob: "0.0.14", liteque: "0.8.0" } as const;
type Peer = keyof typeof PEERS;

const MODES = ["drain", "end-to-end"] as const;
type Mode = (typeof MODES)[number];

/** One run: jobs per second. */
type Subject = () => Promise<number>;

/** The comparison with other queues on the same machine, in one run, so that a reader can check it. */
export const peers: Benchmark = {
  name: "peers",
  what: "no-op jobs through this and other queues that install from npm",
  onDemand: true,
  async run({ quick }) {
    const jobs = quick ? 300 : 1_000;
    const { host, subject } = await ownProcesses(jobs);
    const subjects: Record<string, Subject> = {
      "two runner processes, FULL, drain": subject,
      ...Object.fromEntries(
        MODES.map((mode) => [`managers in process, FULL, ${mode}`, () => runOwn(mode, jobs)]),
      ),
    };
    for (const name of Object.keys(PEERS) as Peer[]) {
      const folder = install(name);
      if (folder === undefined || !(await runsHere(name, folder))) continue;
      for (const synchronous of ["NORMAL", "FULL"]) {
        for (const mode of MODES) {
          subjects[`${name} ${PEERS[name]}, ${synchronous}, ${mode}`] = () =>
            runPeer(name, folder, [mode, synchronous, String(jobs)]);
        }
      }
    }
    const samples = await interleave(5, subjects);
    await host.stop();
    return Object.entries(samples).map(([what, rates]): Figure => {
      const value = median(rates);
      return { goal: "peers", what, value, unit: "jobs/s", absolute: spread(rates) };
    });
  },
};

function spread(rates: number[]): string {
  const [lowest, highest] = [Math.min(...rates), Math.max(...rates)].map((rate) =>
    Math.round(rate).toLocaleString("en"),
  );
  return `${lowest}–${highest} over ${rates.length} rounds`;
}

/** Our own, through runner processes: every resource is enqueued, and settled by one of two. */
async function ownProcesses(jobs: number): Promise<{ host: Host; subject: Subject }> {
  const project = makeProject(NOOP, { concurrency: 2 });
  const host = await startHost(project, 2);
  await applySpecs(host, project, jobs);
  const subject = async (): Promise<number> => {
    const { ms } = await host.reconcileAll(project, jobs);
    await host.checkSettled();
    return (jobs / ms) * 1_000;
  };
  return { host, subject };
}

/** Our own, embedded in a program; end to end is an apply of all and a pass of each. */
function runOwn(mode: Mode, jobs: number): Promise<number> {
  return rateOf([program("own"), path.join(makeWorkspace(), "home"), mode, String(jobs)]);
}

/** Installs a peer into a folder of its own, with our better-sqlite3; undefined where it can't be. */
function install(name: Peer): string | undefined {
  const folder = makeWorkspace();
  writeFileSync(path.join(folder, "package.json"), '{ "private": true }\n');
  const quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--legacy-peer-deps"];
  const { status, stderr } = spawnSync("npm", ["install", ...quiet, `${name}@${PEERS[name]}`], {
    cwd: folder,
    encoding: "utf8",
    timeout: 120_000,
  });
  if (status !== 0) {
    console.error(`skipped ${name}: npm could not install it: ${stderr.trim().split("\n")[0]}`);
    return undefined;
  }
  const driver = createRequire(import.meta.url).resolve("better-sqlite3/package.json");
  mkdirSync(path.join(folder, "node_modules"), { recursive: true });
  symlinkSync(path.dirname(driver), path.join(folder, "node_modules", "better-sqlite3"));
  return folder;
}

/** Tries a peer once, so that one that can't run on this Node or better-sqlite3 is left out. */
async function runsHere(name: Peer, folder: string): Promise<boolean> {
  try {
    await runPeer(name, folder, ["drain", "FULL", "10"]);
    return true;
  } catch (error) {
    const reason = /^\w*Error: .*$/m.exec(error instanceof Error ? error.message : String(error));
    console.error(`skipped ${name}: ${reason?.[0] ?? "it does not run here"}`);
    return false;
  }
}

function runPeer(name: Peer, folder: string, args: string[]): Promise<number> {
  return rateOf([program("peer"), folder, name, ...args]);
}

/** Jobs per second of a program that prints its milliseconds and jobs. */
async function rateOf(args: string[]): Promise<number> {
  const { stdout } = await runNode(args);
  const { ms, jobs } = JSON.parse(stdout) as { ms: number; jobs: number };
  check(ms > 0 && jobs > 0, "the run says what it took");
  return (jobs / ms) * 1_000;
}
