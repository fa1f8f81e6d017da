import { hash } from "node:crypto";
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import fc from "fast-check";
import { expect, it } from "vitest";
import { makeRepository } from "../git/repository.ts";
import { SPECS, watching } from "./watching.ts";

const NAMES = Array.from(
  { length: 6 },
  (_, index) => `${SPECS}/d${index % 2}/s${index}.resource.json`,
);
const spec = (value: number) => `${JSON.stringify({ value })}\n`;
const sha = (bytes: Buffer) => hash("sha256", bytes, "hex");

type Step = {
  kind: "write" | "truncate" | "replace" | "recreate" | "delete" | "move" | "checkout" | "stash";
  file: number;
  value: number;
  /** Milliseconds before the next step. */
  wait: number;
};
const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(
    "write",
    "truncate",
    "replace",
    "recreate",
    "delete",
    "move",
    "checkout",
    "stash",
  ),
  file: fc.integer({ min: 0, max: NAMES.length - 1 }),
  value: fc.integer({ min: 10, max: 99 }),
  wait: fc.constantFrom(0, 5, 40, 90),
});

it("A-11: after any series of saves, moves and checkouts the state is that of the disk, and no file that was always there was ever gone", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), async (steps) => {
      const { folder, git, write, commit } = makeRepository();
      const kept = `${SPECS}/kept.resource.json`;
      write(kept, spec(0));
      for (const [index, name] of NAMES.entries()) write(name, spec(index));
      commit("main");
      git("checkout", "--quiet", "-b", "other");
      for (const name of NAMES.slice(0, 3)) write(name, spec(5));
      rmSync(path.join(folder, NAMES[4] as string));
      commit("other");
      const { tree, states } = await watching(folder, { gitDir: path.join(folder, ".git") });
      for (const each of steps) {
        await take(each, folder, git);
        await pause(each.wait);
      }
      tree.lookAgain();
      const settled = await tree.settled(20_000);
      expect(Object.fromEntries(settled?.specs ?? [])).toEqual(onDisk(folder));
      const empty = sha(Buffer.alloc(0));
      for (const { specs } of states) {
        expect(specs.has(kept)).toBe(true);
        expect([...specs.values()]).not.toContain(empty);
      }
      await tree.close();
    }),
    { numRuns: 12 },
  );
});

async function take(
  { kind, file, value }: Step,
  folder: string,
  git: (...args: string[]) => string,
): Promise<void> {
  const target = path.join(folder, NAMES[file] as string);
  const text = spec(value);
  const isThere = existsSync(path.dirname(target));
  if (kind === "checkout")
    return void git("checkout", "--quiet", "--force", value % 2 ? "main" : "other");
  if (kind === "stash") return void git("stash", "--quiet", "--include-untracked");
  if (!isThere) return;
  if (kind === "truncate") {
    writeFileSync(target, "");
    await pause(10);
  }
  if (kind === "recreate" || kind === "delete") rmSync(target, { force: true });
  if (kind === "recreate") await pause(30);
  if (kind === "replace") {
    writeFileSync(`${target}.tmp`, text);
    renameSync(`${target}.tmp`, target);
  } else if (kind === "move") {
    if (existsSync(target))
      renameSync(target, path.join(folder, NAMES[(file + 1) % NAMES.length] as string));
  } else if (kind !== "delete") writeFileSync(target, text);
}

function onDisk(folder: string): Record<string, string> {
  return Object.fromEntries(
    [...NAMES, `${SPECS}/kept.resource.json`].flatMap((name) => {
      const file = path.join(folder, name);
      return existsSync(file) ? [[name, sha(readFileSync(file))]] : [];
    }),
  );
}
