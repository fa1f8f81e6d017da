import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { judgePrune } from "../src/diff/guard.ts";
import { systemClock } from "../src/model/clock.ts";
import { LIMITS } from "../src/model/limits.ts";
import { tooManyFiles } from "../src/sources/discover.ts";
import { findFiles } from "../src/sources/watched-files.ts";
import { stored } from "./diff/specs.ts";
import { tempFolder } from "./server/temp.ts";

/** Where each limit is proved, at it and past it. A limit that is not here does not compile. */
const PROOFS: Record<keyof typeof LIMITS, string> = {
  spec: "store/limits.test.ts",
  status: "store/limits.test.ts",
  nesting: "model/canonical.test.ts",
  eventPayload: "store/limits.test.ts",
  message: "store/limits.test.ts",
  manifestFile: "sources/json-spec.test.ts",
  bundle: "server/definitions.test.ts",
  batch: "store/limits.test.ts",
  manifestsPerFile: "sources/json-spec.test.ts",
  files: "limits.test.ts",
  nodeOutput: "runner/run/limits.test.ts",
  journalPage: "runner/run/limits.test.ts",
  journalInFlight: "runner/run/limits.test.ts",
  runLogPiece: "runner/run/limits.test.ts",
  attemptsAtOnce: "runner/run/limits.test.ts",
  shellOutput: "runner/run/shell.test.ts",
  agentCorrections: "runner/run/agents.test.ts",
  agentTranscript: "pi/transcript.test.ts",
  agentTools: "runner/run/limits.test.ts",
  endRunMs: "runner/run/limits.test.ts",
  runDeadlineMs: "workflows/limits.test.ts",
  maxRunDeadlineMs: "workflows/limits.test.ts",
  graphNodes: "workflows/limits.test.ts",
  loopTimes: "workflows/limits.test.ts",
  nodeRetries: "workflows/limits.test.ts",
  branches: "workflows/limits.test.ts",
  choices: "workflows/limits.test.ts",
  key: "model/limits.test.ts",
  name: "model/limits.test.ts",
  label: "model/limits.test.ts",
  labels: "model/limits.test.ts",
  dependsOn: "model/limits.test.ts",
  finalizers: "store/limits.test.ts",
  conditions: "store/limits.test.ts",
  effectKey: "store/limits.test.ts",
  effectRequest: "store/limits.test.ts",
  effectResult: "store/limits.test.ts",
  effectAttempts: "runner/effects.test.ts",
  runnerMessage: "runner/frames.test.ts",
  requestBody: "server/http.test.ts",
  childOutput: "runner/faults.test.ts",
  deadlineMs: "resolver/definitions.test.ts",
  maxDeadlineMs: "server/definitions.test.ts",
  killGraceMs: "runner/limits.test.ts",
  readyMs: "runner/limits.test.ts",
  claimMarginMs: "server/limits.test.ts",
  resolveMs: "resolver/limits.test.ts",
  evaluateMs: "resolver/limits.test.ts",
  resolverHeapMiB: "resolver/limits.test.ts",
  resolverOutput: "resolver/limits.test.ts",
  runnerHeapMiB: "runner/limits.test.ts",
  runnerRecycleBytes: "runner/limits.test.ts",
  runnerRecycleMs: "runner/limits.test.ts",
  runnerIdleMs: "runner/limits.test.ts",
  backoffFloorMs: "model/queue.test.ts",
  backoffCapMs: "model/queue.test.ts",
  crashAttempts: "server/limits.test.ts",
  hotLoopPasses: "store/hot-loop.test.ts",
  hotLoopDelayMs: "store/hot-loop.test.ts",
  maxRequeueMs: "runner/context.test.ts",
  maxTimerMs: "limits.test.ts",
  heartbeatMs: "server/scheduler.test.ts",
  concurrency: "server/limits.test.ts",
  concurrencyPerProject: "server/limits.test.ts",
  concurrencyPerManager: "resolver/definitions.test.ts",
  runConcurrency: "server/lanes.test.ts",
  agents: "server/runs/agents.test.ts",
  maxConcurrent: "server/definitions.test.ts",
  drainMs: "server/limits.test.ts",
  idleExitMs: "server/limits.test.ts",
  pruneCount: "diff/guard.test.ts",
  pruneFraction: "limits.test.ts",
  page: "store/reader.test.ts",
  passesKept: "store/events.test.ts",
  eventsKept: "store/events.test.ts",
  generationsKept: "store/history.test.ts",
  webhookBody: "server/sources/webhooks.test.ts",
  webhookHeaders: "server/sources/webhooks.test.ts",
  // That Node's HTTP server holds to what it is told is Node's to prove: it has no clock to set.
  webhookMs: "server/limits.test.ts",
  webhookRate: "server/sources/webhooks.test.ts",
  webhookConnections: "server/sources/webhooks.test.ts",
  deliveryId: "store/sources.test.ts",
  deliveriesKept: "store/sources.test.ts",
  deliveryKeptMs: "store/sources.test.ts",
  watchedFiles: "limits.test.ts",
  mappedPaths: "server/sources/files.test.ts",
  mappedKeys: "runner/map.test.ts",
  mapMs: "runner/limits.test.ts",
  // Of a pool of that size; that the server makes its second pool so is one line of serve.ts.
  mapConcurrency: "runner/limits.test.ts",
  sources: "sources/describe-sources.test.ts",
  globs: "sources/describe-sources.test.ts",
  prunesKept: "sync/store.test.ts",
  runLog: "store/runs.test.ts",
  runsKept: "store/runs.test.ts",
  removedKeptMs: "store/history.test.ts",
  restoredDoubtMs: "store/restore.test.ts",
};

describe("every limit", () => {
  it.each(Object.keys(LIMITS) as (keyof typeof LIMITS)[])("%s has a test", (name) => {
    const proof = PROOFS[name];
    if (proof.startsWith("not tested: ")) return;
    const file = path.join(import.meta.dirname, proof);
    expect(existsSync(file)).toBe(true);
    const mention = new RegExp(`LIMITS\\.${name}\\b|\\{[^}]*\\b${name}\\b[^}]*\\} = LIMITS`);
    expect(readFileSync(file, "utf8")).toMatch(mention);
  });
});

it("LIMITS.files: as many spec files are loaded, and not one more", () => {
  expect(tooManyFiles(LIMITS.files)).toBeUndefined();
  expect(tooManyFiles(LIMITS.files + 1)).toMatchObject({
    file: ".",
    message: "100001 spec files were found; at most 100000 are allowed",
  });
});

// Twenty thousand files take half a minute to make and to find, so a lower bound stands for
// LIMITS.watchedFiles, which files-source.ts gives.
it("LIMITS.watchedFiles: a source looks at so many files, and says where there are more", async () => {
  const project = tempFolder();
  const most = 20;
  for (let file = 0; file < most; file += 1) writeFileSync(path.join(project, `${file}`), "");
  const look = () => findFiles(project, ["**"], most);
  expect((await look()).isCut).toBe(false);
  writeFileSync(path.join(project, "one-more"), "");
  const { isCut, files } = await look();
  expect(isCut).toBe(true);
  expect(files.size).toBe(most);
});

it("LIMITS.pruneFraction: so large a part is pruned without asking, and not more", () => {
  const state = (owned: number) =>
    judgePrune({
      request: { covers: () => true },
      pruned: Array.from({ length: LIMITS.pruneCount + 1 }, (_, index) => stored(`k${index}`)),
      owned,
      declared: 1,
      problems: 0,
    }).state;
  const whole = (LIMITS.pruneCount + 1) / LIMITS.pruneFraction;
  expect(state(whole)).toBe("clear");
  expect(state(whole - 1)).toBe("held");
});

describe("LIMITS.maxTimerMs", () => {
  afterEach(() => void vi.useRealTimers());

  it("is the longest that Node takes: one more would fire at once, and is cut to it", () => {
    const wait = vi.spyOn(globalThis, "setTimeout");
    for (const delay of [LIMITS.maxTimerMs, LIMITS.maxTimerMs + 1, Number.POSITIVE_INFINITY]) {
      systemClock.schedule(() => undefined, delay)();
      expect(wait).toHaveBeenLastCalledWith(expect.any(Function), 2 ** 31 - 1);
    }
    wait.mockRestore();
  });

  it("a timer of that length has not fired one millisecond before", () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    let fired = false;
    systemClock.schedule(() => (fired = true), LIMITS.maxTimerMs + 1);
    vi.advanceTimersByTime(LIMITS.maxTimerMs - 1);
    expect(fired).toBe(false);
    vi.advanceTimersByTime(1);
    expect(fired).toBe(true);
  });
});
