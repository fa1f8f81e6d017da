import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { program, runNode } from "./processes.ts";
import { check, interleave, median, perSecond } from "./harness.ts";
import type { Benchmark, Figure } from "./harness.ts";
import { makeWorkspace } from "./workspace.ts";

/** Queues that need no server and bring no native code of their own; both run on better-sqlite3. */
const PEERS = { plainjob: "0.0.14", liteque: "0.8.0" } as const;
type Peer = keyof typeof PEERS;
type Mode = "drain" | "end-to-end";

/** The comparison with other queues on the same machine, so that a reader can check it. */
export const peers: Benchmark = {
  name: "peers",
  what: "no-op jobs through other queues that install from npm",
  onDemand: true,
  async run({ quick }) {
    const figures: Figure[] = [];
    for (const name of Object.keys(PEERS) as Peer[]) {
      const folder = install(name);
      if (folder === undefined || !(await runsHere(name, folder))) continue;
      for (const synchronous of ["NORMAL", "FULL"]) {
        figures.push(...(await compare(name, folder, synchronous, quick ? 300 : 1_000)));
      }
    }
    return figures;
  },
};

/** Installs a peer into a folder of its own, with our better-sqlite3; undefined where it can't be. */
function install(name: Peer): string | undefined {
  const folder = makeWorkspace();
  writeFileSync(path.join(folder, "package.json"), '{ "private": true }\n');
  const { status, stderr } = spawnSync(
    "npm",
    [
      "install",
      "--no-audit",
      "--no-fund",
      "--ignore-scripts",
      "--legacy-peer-deps",
      `${name}@${PEERS[name]}`,
    ],
    { cwd: folder, encoding: "utf8", timeout: 120_000 },
  );
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

/** Milliseconds for `[mode, synchronous, jobs]`. */
async function runPeer(name: Peer, folder: string, args: string[]): Promise<number> {
  const { stdout } = await runNode([program("peer"), folder, name, ...args]);
  const { ms } = JSON.parse(stdout) as { ms: number };
  check(ms > 0, `${name} ran ${args.join(" ")}`);
  return ms;
}

async function compare(
  name: Peer,
  folder: string,
  synchronous: string,
  jobs: number,
): Promise<Figure[]> {
  const run = (mode: Mode) => runPeer(name, folder, [mode, synchronous, String(jobs)]);
  const samples = await interleave(5, {
    drain: () => run("drain"),
    "end-to-end": () => run("end-to-end"),
  });
  return (["drain", "end-to-end"] as const).map((mode) => ({
    goal: "peers",
    what: `${name} ${PEERS[name]}, ${synchronous}, ${mode}`,
    value: (jobs / median(samples[mode])) * 1_000,
    unit: "jobs/s",
    absolute: perSecond((jobs / median(samples[mode])) * 1_000),
  }));
}
