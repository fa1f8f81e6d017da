import { existsSync, readFileSync } from "node:fs";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { LIMITS } from "../../src/model/limits.ts";
import {
  tempProject,
  NOTE_DEFINITION,
  NOTE_FILE,
  type TempProject,
} from "../sources/temp-project.ts";
import { alive } from "../runner/support/processes.ts";
import { keys, lines, loadSpecs } from "./loading.ts";

/** The child's own limit is a little shorter, so that an endless await ends more gently. */
const MARGIN_MS = 500;

/** Time of this process stands still; that of the child does not. */
beforeEach(() => {
  const toFake = ["setTimeout", "clearTimeout", "performance", "Date"] as const;
  vi.useFakeTimers({ toFake: [...toFake] });
});
afterEach(() => void vi.useRealTimers());

/** A project whose only spec file never ends, and says who evaluates it. */
function endless(): TempProject {
  return tempProject({
    "endless.resource.ts": `import { writeFileSync, renameSync } from "node:fs";
writeFileSync("pid.new", String(process.pid));
renameSync("pid.new", "pid");
while (true) {}
export default [];`,
  });
}

async function evaluating(project: TempProject): Promise<number> {
  while (!existsSync(project.path("pid"))) await new Promise((go) => void setImmediate(go));
  return Number(readFileSync(project.path("pid"), "utf8"));
}

it("LIMITS.evaluateMs: a file that does not end is given up then, and not before", async () => {
  const project = endless();
  const loading = loadSpecs(project, ["endless.resource.ts"]);
  const pid = await evaluating(project);
  await vi.advanceTimersByTimeAsync(LIMITS.evaluateMs + MARGIN_MS - 1);
  expect(alive(pid)).toBe(true);
  await vi.advanceTimersByTimeAsync(1);
  expect(lines(await loading)).toEqual([
    `endless.resource.ts:1:1: did not finish within ${LIMITS.evaluateMs / 1_000} s; look for an endless loop`,
  ]);
  expect(alive(pid)).toBe(false);
});

it("LIMITS.resolveMs: a load that takes longer is given up then, and not before", async () => {
  const project = endless();
  const limits = { evaluateMs: 2 * LIMITS.resolveMs };
  const loading = loadSpecs(project, ["endless.resource.ts"], {}, limits);
  const pid = await evaluating(project);
  await vi.advanceTimersByTimeAsync(LIMITS.resolveMs - 1);
  expect(alive(pid)).toBe(true);
  await vi.advanceTimersByTimeAsync(1);
  expect(lines(await loading)).toContain(
    `endless.resource.ts:1:1: loading took longer than ${LIMITS.resolveMs / 1_000} s and was stopped`,
  );
  expect(alive(pid)).toBe(false);
});

it("LIMITS.resolverHeapMiB: the child is started with that heap", async () => {
  const project = tempProject({
    [NOTE_FILE]: NOTE_DEFINITION,
    "flags.resource.ts": `export default process.execArgv
  .filter((flag) => flag.startsWith("--max-old-space-size"))
  .map((key) => ({ resourceManager: "note", key, spec: { title: "t" } }));`,
  });
  const found = await loadSpecs(project, ["flags.resource.ts"]);
  expect(lines(found)).toEqual([]);
  expect(keys(found)).toEqual([`note --max-old-space-size=${LIMITS.resolverHeapMiB}`]);
});

it("LIMITS.resolverOutput: results of that size are taken, and larger ones are not", async () => {
  const project = tempProject({
    [NOTE_FILE]: NOTE_DEFINITION,
    "many.resource.json": JSON.stringify(
      Array.from({ length: 200 }, (_, index) => ({
        resourceManager: "note",
        key: `note ${index}`,
        spec: { title: "t" },
      })),
    ),
  });
  const load = (resolverOutput: number) =>
    loadSpecs(project, ["many.resource.json"], {}, { resolverOutput });
  const taken = await load(LIMITS.resolverOutput);
  expect(keys(taken)).toHaveLength(200);
  const refused = await load(10_000);
  expect(lines(refused).join()).toContain("its results are larger than 10000 bytes");
  expect(keys(refused)).toEqual([]);
});
