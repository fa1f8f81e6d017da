import { describe, expect, it } from "vitest";
import { Memory, MEMORY, type MemoryEntry } from "../../src/extension/memory.ts";
import { noticesDue, noticeText } from "../../src/extension/notices.ts";
import type { SessionEntry } from "../../src/extension/pi.ts";
import { standingOf, type Stood } from "../../src/extension/standing.ts";
import { summary, type Made } from "./resources.ts";

const applied = (key: string, generation = 1) => ({
  uid: `uid-${key}`,
  project: "/p",
  resourceManager: "greeting",
  key,
  generation,
});

/** A session's file, and a session that is opened over what it holds. */
function sessionFile() {
  const entries: SessionEntry[] = [];
  const save = (data: MemoryEntry) =>
    void entries.push({ type: "custom", customType: MEMORY, data });
  return { entries, open: () => new Memory(entries, save) };
}

function present(...made: [key: string, made: Made][]): Map<string, Stood> {
  return new Map(
    made.map(([key, how]) => {
      const resource = summary(key, how);
      return [resource.metadata.uid, { resource, standing: standingOf(resource, false) }];
    }),
  );
}

/** Tells what is due, as a session does. */
function tell(memory: Memory, now: ReadonlyMap<string, Stood>): string {
  const due = noticesDue(memory.resources(), now, "/p");
  if (due.length > 0) memory.told(due);
  return noticeText(due);
}

describe("notices", () => {
  it("are told once, when what the session applied becomes ready or blocked", () => {
    const memory = sessionFile().open();
    memory.applied([applied("a")]);
    expect(tell(memory, present(["a", {}]))).toBe("");
    const blocked: [string, Made] = [
      "a",
      { ready: false, reason: "HeadChanged", message: "moved" },
    ];
    expect(tell(memory, present(blocked))).toBe(
      "greeting a is blocked (HeadChanged: moved); see /resource-manager why greeting a",
    );
    expect(tell(memory, present(blocked))).toBe("");
    expect(tell(memory, present(["a", { ready: true }]))).toBe("greeting a is ready (Written)");
    expect(tell(memory, present(["a", { ready: true }]))).toBe("");
  });

  it("are kept while the session is closed, and told when it is opened, in the latest state", () => {
    const file = sessionFile();
    const before = file.open();
    before.applied([applied("a"), applied("b")]);
    tell(before, present(["a", { ready: true }], ["b", {}]));
    const after = file.open();
    expect(tell(after, present(["a", { ready: true }], ["b", { ready: true }]))).toBe(
      "greeting b is ready (Written)",
    );
    expect(tell(file.open(), present(["a", { ready: true }], ["b", { ready: true }]))).toBe("");
  });

  it("say of a new generation anew, not before it was looked at", () => {
    const memory = sessionFile().open();
    memory.applied([applied("a")]);
    tell(memory, present(["a", { ready: true }]));
    memory.applied([applied("a", 2)]);
    expect(tell(memory, present(["a", { ready: true }]))).toBe("");
    expect(tell(memory, present(["a", { ready: true, generation: 2 }]))).toContain("is ready");
  });

  it("tell of a deletion when the resource is gone, and never again", () => {
    const file = sessionFile();
    const memory = file.open();
    memory.applied([applied("a")]);
    expect(tell(memory, present(["a", { ready: true, deleting: true }]))).toBe("");
    expect(tell(memory, present())).toBe("greeting a is deleted");
    expect(tell(memory, present())).toBe("");
    expect(file.open().resources()).toEqual([]);
  });

  it("do not tell of what others applied, of other projects, or of a failure that is tried again", () => {
    const memory = sessionFile().open();
    memory.applied([{ ...applied("far"), project: "/elsewhere" }, applied("tried")]);
    const failing = { type: "Reconciled", status: false as const, reason: "ReconcileFailed" };
    const now = present(
      ["other", { ready: true }],
      ["tried", { ready: false, conditions: [failing] }],
    );
    expect(tell(memory, now)).toBe("");
  });

  it("name a few of many", () => {
    const memory = sessionFile().open();
    const keys = Array.from({ length: 12 }, (_one, at) => `k${at}`);
    memory.applied(keys.map((key) => applied(key)));
    expect(
      tell(memory, present(...keys.map((key): [string, Made] => [key, { ready: true }]))),
    ).toBe("12 resources are ready: greeting k0, greeting k1, greeting k2 and 9 more");
  });

  it("survive a session's file that others wrote into", () => {
    const entries = [undefined, null, 1, { kind: "told" }, { kind: "applied", resources: 3 }].map(
      (data) => ({ type: "custom", customType: MEMORY, data }),
    );
    expect(new Memory(entries, () => undefined).resources()).toEqual([]);
  });
});
