import { describe, expect, it } from "vitest";
import { LIMITS } from "../../../src/model/limits.ts";
import { action, compute, TerminalError } from "../../../src/workflows/index.ts";
import { MemoryRunHost } from "./support/host.ts";
import { gate, run, start } from "./support/run.ts";
import { chain, handClock } from "./support/workflow.ts";

/** Waits until the journal has so many lines. */
function lines(host: MemoryRunHost, count: number): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (host.entries.length >= count) resolve();
    };
    host.onLine = look;
    look();
  });
}

describe("a node that fails", () => {
  it("is tried again as often as it says, each after twice the delay of the one before", async () => {
    const time = handClock();
    const times: number[] = [];
    const flaky = compute({
      retry: { times: 2, delay: "4s" },
      run: ({ attempt }) => {
        times.push(time.now());
        if (attempt < 3) throw new Error(`attempt ${attempt}`);
        return attempt;
      },
    });
    const { host, outcome } = start(chain({ flaky }), { time });

    await lines(host, 1);
    time.advance(3_999);
    expect(times.length).toBe(1);
    time.advance(1);
    await lines(host, 2);
    time.advance(8_000);

    expect(await outcome).toMatchObject({ ending: { state: "succeeded", output: 3 } });
    expect(times.map((at) => at - (times[0] as number))).toEqual([0, 4_000, 12_000]);
    expect(host.entries.map((entry) => "attempt" in entry && entry.attempt)).toEqual([1, 2, 3, 1]);
  });

  it("is not tried again after an error that says it is final, and leads along its failure edge", async () => {
    let attempts = 0;
    const doomed = compute({
      retry: { times: 5, delay: "1s" },
      run: () => {
        attempts += 1;
        throw new TerminalError("no such repository");
      },
    });
    const mend = compute({ run: ({ failure }) => failure(doomed)?.message ?? "" });

    const { outcome } = await run(chain({ doomed, mend }, "mend"));

    expect(outcome).toMatchObject({ ending: { output: "no such repository" } });
    expect(attempts).toBe(1);
  });

  it("keeps where in the author's code it threw", async () => {
    const throws = compute({
      run: () => {
        throw new Error("boom");
      },
    });
    const { host } = await run(chain({ throws }));
    expect(host.entries[0]).toMatchObject({
      event: "failed",
      error: {
        reason: "Thrown",
        message: "boom",
        stack: expect.stringContaining("failures.test.ts"),
      },
    });
  });
});

describe("a node past its deadline", () => {
  it("is told to stop, and has failed by its deadline", async () => {
    const time = handClock();
    const started = gate();
    const slow = action({
      safety: "idempotent",
      timeout: "5s",
      run: ({ signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(new Error("stopped")));
          started.open();
        }),
    });
    const { host, outcome } = start(chain({ slow }), { time });
    await started.opened;
    time.advance(5_000);

    expect(await outcome).toMatchObject({
      ending: {
        reason: "NodeFailed",
        message: "slow: node slow was not done within its timeout of 5000 ms",
      },
    });
    expect(host.entries[1]).toMatchObject({
      error: { reason: "DeadlineExceeded" },
      retryable: true,
    });
  });

  it.each<["idempotent" | "manual", object]>([
    ["idempotent", { state: "failed", reason: "NodeFailed" }],
    ["manual", { state: "interrupted", reason: "Ambiguous", node: "deaf" }],
  ])("is given up where it does not stop: %s", async (safety, ending) => {
    const time = handClock();
    const started = gate();
    let strays = 0;
    const deaf = action({
      safety,
      timeout: "5s",
      run: () => {
        started.open();
        return new Promise(() => {});
      },
    });
    const { outcome } = start(chain({ deaf }), { time, onStray: () => (strays += 1) });
    await started.opened;
    time.advance(5_000);
    time.advance(LIMITS.killGraceMs);

    expect(await outcome).toMatchObject({ kind: "ran", ending });
    expect(strays).toBe(1);
  });

  it("has succeeded where it ends well, though late", async () => {
    const time = handClock();
    const started = gate();
    const late = action({
      safety: "manual",
      timeout: "5s",
      run: ({ signal }) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => resolve("sent"));
          started.open();
        }),
    });
    const { outcome } = start(chain({ late }), { time });
    await started.opened;
    time.advance(5_000);

    expect(await outcome).toMatchObject({ ending: { state: "succeeded", output: "sent" } });
  });
});

describe("a run past its deadline", () => {
  it("calls off what runs and ends so, having undone what can be undone", async () => {
    const time = handClock();
    const started = gate();
    const undone: unknown[] = [];
    const made = action({
      safety: "idempotent",
      run: () => "branch",
      compensate: ({ result }) => void undone.push(result),
    });
    const slow = action({
      safety: "idempotent",
      run: ({ signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(new Error("stopped")));
          started.open();
        }),
    });
    const { host, outcome } = start(chain({ made, slow }), { time, pass: { remainingMs: 9_000 } });
    await started.opened;
    time.advance(9_000);

    expect(await outcome).toMatchObject({
      ending: { state: "failed", reason: "DeadlineExceeded" },
    });
    expect(undone).toEqual(["branch"]);
    // What is to be undone is one line of the journal, and no more is read.
    expect(host.reads.at(-1)).toBe(1);
    expect(host.story).toEqual([
      "begun made",
      "succeeded made",
      "begun slow",
      "deadline",
      "aborted slow",
      "begun made",
      "succeeded made",
    ]);
  });

  it("longer than the longest timer is not cut short by it", async () => {
    const time = handClock();
    const started = gate();
    const go = gate();
    const waits = action({
      safety: "idempotent",
      run: async () => {
        started.open();
        await go.opened;
        return "done";
      },
    });
    const { outcome } = start(chain({ waits }), {
      time,
      pass: { remainingMs: LIMITS.maxTimerMs + 1_000 },
    });
    await started.opened;
    time.advance(LIMITS.maxTimerMs + 500);
    go.open();

    expect(await outcome).toMatchObject({ ending: { state: "succeeded" } });
  });

  it("that is found past it ends at once, and begins nothing", async () => {
    let begun = 0;
    const node = compute({ run: () => (begun += 1) });
    const { outcome } = await run(chain({ node }), { pass: { remainingMs: -1 } });
    expect(outcome).toMatchObject({ ending: { state: "failed", reason: "DeadlineExceeded" } });
    expect(begun).toBe(0);
  });
});

describe("a pass that is called off", () => {
  it("stops what runs, journals what ended well, and leaves the rest to the next pass", async () => {
    const started = gate();
    const node = action({
      safety: "idempotent",
      run: ({ signal, attempt }) =>
        attempt > 1
          ? "second"
          : new Promise((_resolve, reject) => {
              signal.addEventListener("abort", () => reject(new Error("stopped")));
              started.open();
            }),
    });
    const host = new MemoryRunHost();
    const first = start(chain({ node }), { host });
    await started.opened;
    first.abort("shutdown");
    expect(await first.outcome).toMatchObject({ kind: "crashed", fault: "shutdown" });
    expect(host.story).toEqual(["begun node"]);

    const { outcome } = await run(chain({ node }), { host });
    expect(outcome).toMatchObject({ ending: { state: "succeeded", output: "second" } });
    expect(host.story).toEqual([
      "begun node",
      "recovered",
      "begun node",
      "succeeded node",
      "succeeded end:done",
    ]);
  });

  it("by the loss of its claim acts on nothing more", async () => {
    const host = new MemoryRunHost();
    host.linesLeft = 0;
    let acted = false;
    const node = action({ safety: "idempotent", run: () => void (acted = true) });

    const { outcome } = await run(chain({ node }), { host });

    expect(outcome).toMatchObject({ kind: "failed", terminal: false });
    expect(acted).toBe(false);
  });
});
