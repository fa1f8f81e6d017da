import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JournalInput, RunEnding } from "../../src/model/run.ts";
import { Driver, type Fate } from "./driver.ts";
import {
  type Block,
  graphOf,
  interpret,
  type Kinds,
  outcomes,
  programs,
  RunFails,
} from "./programs.ts";

const REPEATABLE: Kinds = ["compute", "idempotent", "checkpoint"];
const ALL: Kinds = [...REPEATABLE, "manual"];
const seed = fc.integer({ min: 0, max: 2 ** 31 - 1 });
const moments = fc.array(fc.integer({ min: 0, max: 80 }), { maxLength: 6 });
const resolve = fc.constantFrom("succeeded" as const, "failed" as const, "retry" as const);
const RUNS = { numRuns: Number(process.env["STEP_RUNS"] ?? 200) };

const drive = (block: Block, seeded: number, fate: Fate) =>
  new Driver(graphOf(block), outcomes(seeded), fate).run();

/** What the program itself comes to. */
function expected(block: Block, seeded: number): Map<string, number> | "fails" {
  try {
    return interpret(block, outcomes(seeded));
  } catch (thrown) {
    if (thrown instanceof RunFails) return "fails";
    throw thrown;
  }
}

const inOrder = (map: Map<string, number>) =>
  [...map].sort(([one], [other]) => (one < other ? -1 : 1));
const short = (ending: RunEnding) => (ending.state === "succeeded" ? ending.exit : ending.reason);

describe("random graphs, driven by the step function", () => {
  it("do what their program says: every node as often, every join once, every loop within its bound", () => {
    fc.assert(
      fc.property(programs(ALL), seed, seed, (block, seeded, order) => {
        const { ending, entered } = drive(block, seeded, { order });
        const wanted = expected(block, seeded);
        if (wanted === "fails") expect(short(ending)).toBe("NodeFailed");
        else {
          expect(short(ending)).toBe("done");
          expect(inOrder(entered)).toEqual(inOrder(wanted));
        }
      }),
      RUNS,
    );
  });

  it("end as they would have without crashes and pauses at any moments", () => {
    fc.assert(
      fc.property(
        programs(REPEATABLE),
        seed,
        fc.record({ order: seed, crashes: moments, pauses: moments }),
        (block, seeded, fate) => {
          const { ending, entered } = drive(block, seeded, fate);
          const wanted = expected(block, seeded);
          expect(short(ending)).toBe(wanted === "fails" ? "NodeFailed" : "done");
          if (wanted !== "fails") expect(inOrder(entered)).toEqual(inOrder(wanted));
        },
      ),
      RUNS,
    );
  });

  it("make no manual attempt again whose end was not seen, unless a person releases it", () => {
    fc.assert(
      fc.property(
        programs(ALL),
        seed,
        fc.record({ order: seed, crashes: moments, resolve }),
        (block, seeded, fate) => {
          const { ending } = drive(block, seeded, fate);
          expect(["done", "NodeFailed"]).toContain(short(ending));
        },
      ),
      RUNS,
    );
  });

  it("undo, when they are cancelled, exactly what succeeded, the newest first", () => {
    const cancel = fc.integer({ min: 0, max: 60 });
    fc.assert(
      fc.property(
        programs(ALL),
        seed,
        fc.record({ order: seed, crashes: moments, pauses: moments, cancel, resolve }),
        (block, seeded, fate) => {
          const { ending, journal } = drive(block, seeded, fate);
          const undone = compensated(journal);
          if (short(ending) === "Cancelled") expect(unknown(block, journal)).toEqual([]);
          if (short(ending) !== "Cancelled") expect(undone).toEqual([]);
          else expect(undone).toEqual(compensable(block, journal).toReversed());
        },
      ),
      RUNS,
    );
  });

  it("end soon after their deadline", () => {
    fc.assert(
      fc.property(
        programs(ALL),
        seed,
        seed,
        fc.integer({ min: 0, max: 60 }),
        (block, seeded, order, deadline) => {
          const { ending, journal } = drive(block, seeded, { order, deadline });
          const at = journal.findIndex(({ event }) => event === "deadline");
          const begun = journal
            .slice(at + 1)
            .filter((entry) => entry.event === "begun" && !entry.compensation);
          if (short(ending) === "DeadlineExceeded") expect(begun).toEqual([]);
          else expect(["done", "NodeFailed"]).toContain(short(ending));
        },
      ),
      RUNS,
    );
  });
});

/** Visits whose compensation was made, in the order in which they were, once each. */
function compensated(journal: readonly JournalInput[]): number[] {
  const visits = journal.flatMap((entry) =>
    "visit" in entry && entry.compensation && entry.event === "begun" ? [entry.visit] : [],
  );
  return [...new Set(visits)];
}

/** Visits that succeeded and can be undone, in the order in which they succeeded. */
function compensable(block: Block, journal: readonly JournalInput[]): number[] {
  const { nodes } = graphOf(block);
  return journal.flatMap((entry) =>
    entry.event === "succeeded" && !entry.compensation && nodes[entry.node]?.compensates
      ? [entry.visit]
      : [],
  );
}

/** Visits that can be undone and had begun, of which it is not known how they ended. */
function unknown(block: Block, journal: readonly JournalInput[]): string[] {
  const { nodes } = graphOf(block);
  const open = new Map<number, string>();
  for (const entry of journal) {
    if (!("visit" in entry) || entry.compensation || !nodes[entry.node]?.compensates) continue;
    if (entry.event === "begun" || entry.event === "ambiguous") open.set(entry.visit, entry.node);
    else open.delete(entry.visit);
  }
  return [...open.values()];
}
