import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ChildRun } from "../../src/model/workflow-scheduler.ts";
import { TerminalError } from "../../src/resource-managers/results.ts";
import { createInProcessRunner } from "../../src/runner/in-process.ts";
import type { RunnerPort } from "../../src/runner/port.ts";
import { remote } from "./fixtures/github.ts";
import pullRequest from "./fixtures/specification-example.ts";
import { memoryHost, never, passOf, type MemoryHost } from "./support/host.ts";
import { clock } from "./support/pool.ts";

const spec = { repository: "acme/widgets", number: 42, expectedHeadSha: "abc" };

/** A host whose child runs are in the state given. */
function hostWithRuns(state: ChildRun["state"]): MemoryHost {
  const host = memoryHost();
  return {
    ...host,
    async ensureWorkflow(request) {
      host.childRuns.push(request);
      return { requestId: request.requestKey, runId: "run-1", state, attempt: 1 };
    },
  };
}

describe("the specification's own example", () => {
  let runner: RunnerPort;
  const pass = (host: MemoryHost) =>
    runner.run(passOf("hosted", { name: "pull-request", spec }), host, never());

  beforeEach(() => {
    Object.assign(remote, { merged: false, headSha: "abc", merges: 0 });
    runner = createInProcessRunner([pullRequest], clock);
  });
  afterEach(() => runner.stop());

  it("computes the first status", () => {
    expect(pullRequest.initialStatus(spec)).toEqual({ phase: "observing" });
  });

  it("looks again later while its child run is under way", async () => {
    const host = hostWithRuns("running");

    expect(await pass(host)).toEqual({ kind: "requeueAfter", delayMs: 30_000 });

    expect(host.childRuns).toEqual([
      {
        requestKey: "repair:1:abc",
        workflow: "repair-pull-request",
        input: { repository: "acme/widgets", number: 42 },
      },
    ]);
    expect(remote.merges).toBe(0);
  });

  it("merges once its child run has succeeded, then settles as merged", async () => {
    const host = hostWithRuns("succeeded");

    expect(await pass(host)).toEqual({ kind: "requeue" });
    expect(await pass(host)).toEqual({
      kind: "settled",
      resourceManagerStatus: { phase: "merged" },
      conditions: [{ type: "Ready", status: true, reason: "Merged" }],
    });

    expect(remote.merges).toBe(1);
    expect(host.effects.get("merge:1:abc")).toMatchObject({
      kind: "github-merge",
      state: "applied",
      externalRef: "abc",
    });
  });

  it("is blocked when the head has moved", async () => {
    remote.headSha = "def";

    expect(await pass(hostWithRuns("succeeded"))).toEqual({
      kind: "settled",
      resourceManagerStatus: { phase: "blocked" },
      conditions: [{ type: "Ready", status: false, reason: "HeadChanged" }],
    });
    expect(remote.merges).toBe(0);
  });

  it("ends for good where the host runs no workflows", async () => {
    const host = memoryHost();
    host.ensureWorkflow = () => Promise.reject(new TerminalError("no workflows here"));

    expect(await pass(host)).toMatchObject({ kind: "failed", terminal: true });
  });
});
