import { createColors } from "picocolors";
import { describe, expect, it } from "vitest";
import type { Cli } from "../../src/cli/invocation.ts";
import { followRun } from "../../src/cli/runs/follow.ts";
import type { QueueEntry } from "../../src/model/queue.ts";
import type { RunSummary } from "../../src/model/run.ts";
import type { Client } from "../../src/server/protocol.ts";

const RUN: RunSummary = {
  runId: "01890a5d-ac96-774b-bcce-b30289abcdef",
  project: "/p",
  workflow: "release",
  digest: "d",
  state: "waiting",
  reason: "Checkpoint",
  attempt: 1,
  startedBy: "ada",
  cancelling: false,
  paused: false,
  epochs: 1,
  entries: 0,
  createdAt: 0,
  deadlineAt: 1,
};

/** Follows a run whose server tells of these states; `queued` while its queue entry is due. */
function follow(states: Partial<RunSummary>[], { queued }: { queued: boolean }) {
  const client = {
    async *watchRuns() {
      for (const state of states) yield { kind: "present", run: { ...RUN, ...state } };
    },
    journal: () => Promise.resolve([]),
    queue: () => Promise.resolve(queued ? [{ claimed: false, readyAt: 0 } as QueueEntry] : []),
  } as unknown as Client;
  const output = { note: () => {}, status: () => {}, colors: createColors(false) };
  const cli = { output, signal: new AbortController().signal } as unknown as Cli;
  return followRun(cli, client, RUN, undefined);
}

describe("a run that is followed", () => {
  it("is at rest where it waits for a person, and has ended where it has", async () => {
    const states = [{ state: "waiting" }, { state: "succeeded" }] as const;
    expect(await follow([...states], { queued: false })).toMatchObject({ state: "waiting" });
    expect(await follow([{ state: "failed" }], { queued: true })).toMatchObject({
      state: "failed",
    });
  });

  it("is at rest no more once a person has spoken, or while it is cancelled", async () => {
    const states = [{ state: "waiting" }, { state: "running" }, { state: "succeeded" }] as const;
    expect(await follow([...states], { queued: true })).toMatchObject({ state: "succeeded" });
    const cancelled = [{ state: "waiting", cancelling: true }, { state: "failed" }] as const;
    expect(await follow([...cancelled], { queued: false })).toMatchObject({ state: "failed" });
  });

  it("goes on when its server has ended, and the error says how to wait on", async () => {
    const gone = follow([{ state: "running" }], { queued: false });
    await expect(gone).rejects.toMatchObject({
      code: "SERVER_UNREACHABLE",
      hint: expect.stringContaining("`pi-workflows run wait 89abcdef`"),
    });
  });
});
