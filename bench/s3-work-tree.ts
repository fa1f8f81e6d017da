import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { systemClock } from "../src/model/clock.ts";
import { scanWorkingTree, type ScanRequest } from "../src/sources/working-tree/scan.ts";
import { openWorkTree } from "../src/sources/working-tree/work-tree.ts";
import { check, interleave, median, medianRatio, milliseconds, quantile } from "./harness.ts";
import type { Benchmark } from "./harness.ts";
import { makeProject, NOOP, type Project, writeJsonSpec } from "./project.ts";

/** S3: a look at a work tree in which nothing changed, beside a bare walk and stat. */
export const s3: Benchmark = {
  name: "S3",
  what: "scan of 10,000 spec files with nothing changed",
  async run({ quick }) {
    const count = quick ? 1_000 : 10_000;
    const project = makeProject(NOOP);
    for (let index = 0; index < count; index += 1) writeJsonSpec(project, index);
    const request = requestFor(project);
    // Files that changed within the last two seconds are read again.
    await pause(2_500);
    let scan = await scanWorkingTree(request, undefined, performance.now());
    const samples = await interleave(9, {
      raw: () => {
        const start = performance.now();
        check(statAll(project.specs) === count, "raw sees every file");
        return performance.now() - start;
      },
      scan: async () => {
        const start = performance.now();
        const next = await scanWorkingTree(request, scan, start);
        check(next.id === scan.id && next.specs.size === count, "the scan sees every file");
        scan = next;
        return performance.now() - start;
      },
    });
    return [
      {
        goal: "S3",
        what: `no-op scan of ${count.toLocaleString("en")} spec files by stat`,
        value: medianRatio(samples.scan, samples.raw),
        unit: "× raw",
        limit: { atMost: 2 },
        absolute: `${milliseconds(median(samples.scan))} (bare walk and stat: ${milliseconds(median(samples.raw))})`,
      },
    ];
  },
};

/** S4: `git checkout` of many changed files in a work tree that is watched. */
export const s4: Benchmark = {
  name: "S4",
  what: "git checkout of 1,000 changed files in a watched work tree",
  async run({ quick }) {
    const changed = quick ? 100 : 1_000;
    const project = makeProject(NOOP);
    commitTwoBranches(project, changed);
    let states = 0;
    let settledAt = 0;
    const tree = openWorkTree(
      {
        ...requestFor(project),
        gitDir: path.join(project.root, ".git"),
        clock: systemClock,
      },
      () => {
        states += 1;
        settledAt = performance.now();
      },
    );
    await tree.settled(30_000);
    const delays: number[] = [];
    const rounds = quick ? 3 : 10;
    for (let round = 0; round < rounds; round += 1) {
      const before = states;
      const branch = round % 2 === 0 ? "other" : "main";
      const child = spawn("git", ["-C", project.root, "checkout", "--quiet", branch]);
      await once(child, "exit");
      const ended = performance.now();
      // Long enough for a second state, if there were one.
      await pause(1_500);
      check(states === before + 1, `a checkout is one state, and not ${states - before}`);
      delays.push(Math.max(0, settledAt - ended));
    }
    await tree.close();
    return [
      {
        goal: "S4",
        what: `git's end → the one settled state, ${changed.toLocaleString("en")} changed files`,
        value: quantile(delays, 0.95),
        unit: "ms p95",
        limit: { atMost: 300 },
        absolute: `median ${milliseconds(median(delays))}; ${rounds} checkouts, ${rounds} states`,
      },
    ];
  },
};

function requestFor({ root, specs }: Project): ScanRequest {
  const roots = [path.relative(root, specs)];
  return { project: root, roots, globalFolder: path.join(root, "none"), imports: new Map() };
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

function commitTwoBranches(project: Project, changed: number): void {
  const git = (...args: string[]): void => {
    const person = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
    execFileSync("git", ["-C", project.root, ...person, ...args], { stdio: "ignore" });
  };
  git("init", "--initial-branch=main");
  for (let index = 0; index < changed; index += 1) writeJsonSpec(project, index);
  git("add", "--all");
  git("commit", "--message", "one");
  git("checkout", "-b", "other");
  for (let index = 0; index < changed; index += 1) writeJsonSpec(project, index, 2);
  git("commit", "--all", "--message", "two");
  git("checkout", "main");
}
