import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it, onTestFinished } from "vitest";
import { runCommandLine } from "../../src/extension/child.ts";

const OWN = ["--pid", String(process.pid)];

/** Runs some work while this process can open no more files. */
async function withoutFiles(work: () => Promise<void>): Promise<void> {
  const told = execFileSync("prlimit", [...OWN, "--nofile", "--raw", "--noheadings", "-o", "SOFT"]);
  // Begun before, as nothing can be started then.
  const restore = `read go; prlimit ${OWN.join(" ")} --nofile=${String(told).trim()}:`;
  const restorer = spawn("sh", ["-c", restore], { stdio: ["pipe", "ignore", "inherit"] });
  await once(restorer, "spawn");
  execFileSync("prlimit", [...OWN, "--nofile=3:"]);
  try {
    await work();
  } finally {
    restorer.stdin.end("go\n");
    await once(restorer, "close");
  }
}

it("where no more files can be opened, says so and throws nothing that ends Pi", async () => {
  const uncaught: unknown[] = [];
  const catchAll = (thrown: unknown): void => void uncaught.push(thrown);
  process.on("uncaughtException", catchAll);
  onTestFinished(() => void process.off("uncaughtException", catchAll));
  await withoutFiles(async () => {
    const { signal } = new AbortController();
    const ran = runCommandLine(["--version"], { node: process.execPath, cwd: "/", signal });
    await expect(ran).rejects.toThrow(/did not end: spawn .* EMFILE/);
  });
  expect(uncaught).toEqual([]);
});
