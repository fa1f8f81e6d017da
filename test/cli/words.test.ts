import { describe, expect, it } from "vitest";
import { columns, table } from "../../src/cli/columns.ts";
import type { Details } from "../../src/cli/details.ts";
import { parseDeleteBound } from "../../src/cli/flags.ts";
import { describeGoal, parseGoal } from "../../src/cli/goal.ts";
import { presentOf, type Situation } from "../../src/cli/present.ts";
import { readinessOf, summaryOf } from "../../src/cli/readiness.ts";
import { age, lasting, parseDuration, relative, span } from "../../src/cli/time.ts";
import type { Condition } from "../../src/model/condition.ts";
import type { PassRecord } from "../../src/model/pass.ts";
import type { QueueEntry } from "../../src/model/queue.ts";
import type { StoredResource } from "../../src/model/resource.ts";

const NOW = 1_000_000;

describe("times", () => {
  it("are read as people write them", () => {
    expect(["250ms", "30s", "5m", "1h30m", "2d", "1.5s"].map(parseDuration)).toEqual([
      250, 30_000, 300_000, 5_400_000, 172_800_000, 1_500,
    ]);
    for (const text of [
      "",
      "5",
      "s",
      "-5s",
      "5 s",
      "5x",
      "0s",
      "1h1",
      "999999d",
      "9".repeat(400) + "d",
    ]) {
      expect(() => parseDuration(text)).toThrow("is not a duration");
    }
  });

  it("are written in at most two units", () => {
    expect(
      [0, 850, 2_000, 2_340, 59_999, 60_000, 250_000, 3_600_000, 189_000_000].map(span),
    ).toEqual(["0ms", "850ms", "2s", "2.3s", "59s", "1m", "4m10s", "1h", "2d4h"]);
    expect(relative(NOW - 5_000, NOW)).toBe("5s ago");
    expect(relative(NOW + 5_000, NOW)).toBe("in 5s");
  });

  it("are ages in whole seconds, and now where there is less", () => {
    expect([0, 850, 2_340, 250_900].map(age)).toEqual(["0s", "0s", "2s", "4m10s"]);
    expect(relative(NOW - 344, NOW)).toBe("just now");
    expect(relative(NOW + 344, NOW)).toBe("now");
    expect(lasting(NOW - 344, NOW)).toBe("just now");
    expect(lasting(NOW - 12_344, NOW)).toBe("for 12s");
  });
});

describe("tables", () => {
  it("are aligned by what is seen, also with colours and wide characters", () => {
    expect(
      columns([
        ["a", "b"],
        ["\u001b[31mlong\u001b[39m", "x"],
        ["日本", "y"],
      ]),
    ).toBe("a     b\n\u001b[31mlong\u001b[39m  x\n日本  y");
  });

  it("leave out columns in which no row says anything", () => {
    const same = (text: string) => text;
    expect(table(["A", "B", "C"], [["1", "", "3"]], same)).toBe("A  C\n1  3");
  });
});

describe("what is waited for, and how much is deleted", () => {
  it("is read from its words", () => {
    expect(parseGoal("ready")).toEqual({ condition: "Ready", status: true });
    expect(parseGoal("deleted")).toBe("deleted");
    expect(parseGoal("condition=Merged")).toEqual({ condition: "Merged", status: true });
    expect(parseGoal("condition=Merged=False")).toEqual({ condition: "Merged", status: false });
    expect(describeGoal(parseGoal("condition=Merged=false"))).toBe("Merged=False");
    for (const text of [
      "Ready",
      "condition",
      "condition=",
      "condition=A=b",
      "condition=A=true=x",
    ]) {
      expect(() => parseGoal(text)).toThrow("can't be waited for");
    }
    expect(parseDeleteBound("20")).toEqual({ count: 20 });
    expect(parseDeleteBound("25%")).toEqual({ fraction: 0.25 });
    for (const text of ["", "-1", "101%", "a", "1.5", "9".repeat(400)]) {
      expect(() => parseDeleteBound(text)).toThrow("is not a number of deletions");
    }
  });
});

describe("readiness", () => {
  const ready = (changes: Partial<Condition> = {}): Condition => ({
    type: "Ready",
    status: true,
    reason: "Done",
    observedGeneration: 2,
    lastTransitionTime: new Date(NOW).toISOString(),
    ...changes,
  });
  const read = (conditions: Condition[], changes: Partial<StoredResource> = {}) =>
    readinessOf(summaryOf({ ...stored(conditions), ...changes }));

  it("G-10: is True only where Ready was computed from the present generation", () => {
    expect(read([ready()])).toEqual({ ready: "True", reason: "Done" });
    expect(read([ready({ status: false })])).toEqual({ ready: "False", reason: "Done" });
    expect(read([ready({ observedGeneration: 1 })])).toMatchObject({
      ready: "Unknown",
      reason: "Outdated",
    });
    expect(read([])).toEqual({ ready: "Unknown", reason: "NotReported" });
  });

  it("names the trouble where there is some", () => {
    const failed = ready({
      type: "Reconciled",
      status: false,
      reason: "Failed",
      message: "no luck",
    });
    expect(read([failed])).toEqual({ ready: "Unknown", reason: "Failed", message: "no luck" });
    const stalled = ready({ type: "Stalled", reason: "TerminalError" });
    expect(read([ready({ status: false }), failed, stalled])).toMatchObject({
      reason: "TerminalError",
    });
    expect(read([ready()], { suspended: true })).toEqual({ ready: "True", reason: "Suspended" });
  });
});

describe("why: what a resource waits for now", () => {
  it("is the pass that is due, and how often it failed", () => {
    expect(said({ queue: entry({ readyAt: NOW + 8_000, cause: "retry", attempts: 3 }) })).toEqual([
      "backoff",
      "The next pass begins in 8s, after 3 failed passes in a row, because of a failure before.",
    ]);
    expect(said({ queue: entry({ readyAt: NOW - 1 }) })).toEqual([
      "ready",
      "It is ready for a pass, and waits for a free runner, because of a changed spec.",
    ]);
    expect(said({ queue: entry({ claimed: true, dirty: true }) })).toEqual([
      "running",
      "A pass is running. Another will follow, since something changed meanwhile.",
    ]);
  });

  it("is a server, where none runs", () => {
    const [state, ...sentences] = said({ queue: entry({ readyAt: NOW - 1 }), serverRuns: false });
    expect(state).toBe("ready");
    expect(sentences.at(-1)).toContain("No server is running");
  });

  it("is a dependency, a person, a clean-up, or nothing", () => {
    expect(said({ unready: ["counter/b"] })).toEqual([
      "dependency",
      "It depends on counter/b, which is not ready.",
    ]);
    expect(said({ change: (resource) => ({ ...resource, suspended: true }) })[0]).toBe("suspended");
    const deleting = said({
      queue: entry({ readyAt: NOW + 1_000, cause: "retry", attempts: 1 }),
      passes: [{ ...PASS, outcome: "failed", detail: "the folder is in use" }],
      change: (before) => ({
        ...before,
        resource: {
          ...before.resource,
          metadata: {
            ...before.resource.metadata,
            deletionTimestamp: new Date(NOW - 300_000).toISOString(),
            finalizers: ["counter/clean"],
          },
        },
      }),
    });
    expect(deleting[1]).toContain(
      "its manager counter must clean up and remove counter/clean first",
    );
    expect(deleting[1]).toContain("was asked for 5m ago");
    expect(deleting[2]).toContain("The latest pass did not: the folder is in use.");
    expect(deleting[2]).toContain("`pi-workflows delete counter a --force-finalizers`");
    expect(said({})).toEqual([
      "settled",
      "Nothing is left to do until its spec changes or you run `pi-workflows reconcile counter a`.",
    ]);
    const child = { requestId: "r", runId: "01890a5d-ac96-774b-bcce-b30289abcdef", attempt: 1 };
    const withChild = (state: "running" | "failed") =>
      said({
        change: (before) => {
          const { resource } = before;
          const status = { ...resource.status, workflowRun: { ...child, state } };
          return { ...before, resource: { ...resource, status } };
        },
      })[1];
    expect(withChild("running")).toMatch(
      /^Nothing is left to do until its child run ends, its spec changes or/,
    );
    expect(withChild("failed")).toMatch(/^Nothing is left to do until its spec changes or/);
  });
});

type Circumstances = {
  queue?: QueueEntry;
  serverRuns?: boolean;
  unready?: string[];
  change?: (stored: StoredResource) => StoredResource;
  passes?: PassRecord[];
  children?: Situation["children"];
};

const PASS: PassRecord = {
  reconcileId: "r",
  uid: "u",
  project: "/p",
  resourceManager: "counter",
  key: "a",
  generation: 1,
  cause: "retry",
  outcome: "settled",
  startedAt: 0,
  durationMs: 1,
};

function said({
  queue,
  serverRuns = true,
  unready = [],
  change,
  passes = [],
  children = [],
}: Circumstances): string[] {
  const resource = change ? change(stored([])) : stored([]);
  const details: Details = {
    resource,
    ...(queue ? { queue } : {}),
    effects: [],
    workflows: [],
    passes,
    events: [],
  };
  const situation: Situation = {
    details,
    manager: undefined,
    serverRuns,
    unready,
    children,
    now: NOW,
  };
  const { state, sentences } = presentOf(situation);
  return [state, ...sentences];
}

function entry(changes: Partial<QueueEntry>): QueueEntry {
  return {
    uid: "u",
    project: "/p",
    resourceManager: "counter",
    key: "a",
    class: "urgent",
    cause: "spec",
    readyAt: NOW,
    attempts: 0,
    crashAttempts: 0,
    claimed: false,
    dirty: false,
    ...changes,
  };
}

function stored(conditions: Condition[]): StoredResource {
  const owner = { kind: "apply", name: "default" } as const;
  return {
    project: "/p",
    resource: {
      metadata: {
        uid: "u",
        resourceManager: "counter",
        key: "a",
        resourceVersion: 1,
        generation: 2,
        finalizers: [],
      },
      spec: {},
      status: { observedGeneration: 2, conditions, resourceManagerStatus: {} },
    },
    specHash: "",
    labels: {},
    dependsOn: [],
    owner,
    origin: { owner },
    prunable: true,
    suspended: false,
    createdAt: NOW,
    updatedAt: NOW,
  };
}
