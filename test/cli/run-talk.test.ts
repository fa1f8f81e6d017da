import { createColors } from "picocolors";
import { describe, expect, it } from "vitest";
import { LogLines } from "../../src/cli/runs/log-lines.ts";
import { Progress } from "../../src/cli/runs/progress.ts";
import type { JournalEntry, JournalInput, RunLogEntry } from "../../src/model/run.ts";

const PLAIN = createColors(false);

describe("the progress of a run", () => {
  const told = (...batches: JournalEntry[][]) => {
    const notes: string[] = [];
    const output = { note: (text: string) => notes.push(text), status: () => {}, colors: PLAIN };
    const progress = new Progress(output);
    for (const batch of batches) progress.see(batch);
    return notes;
  };
  const ended = (visit: number): JournalInput => ({
    event: "succeeded",
    kind: "compute",
    visit,
    node: `n${visit}`,
    attempt: 1,
    at: 7,
    startedAt: 5,
  });

  it("is a line for each node that ended, with what went wrong", () => {
    const error = { reason: "Thrown", message: "no luck\nat all" };
    const failed = { ...ended(2), event: "failed", error, retryable: true } as JournalInput;
    expect(told(journal(ended(1), { event: "recovered", at: 6 }, failed))).toEqual([
      "  succeeded  n1                  2ms",
      "  failed     n2                  2ms    Thrown: no luck …",
    ]);
  });

  it("begins near its end, where much was done before", () => {
    const notes = told(journal(...Array.from({ length: 1_000 }, (_, index) => ended(index + 1))));
    expect(notes).toHaveLength(201);
    expect(notes[0]).toContain("what ended before");
    expect(notes.at(-1)).toContain("n1000");
  });
});

describe("a run's log", () => {
  it("is told in whole lines, each after its node, in the order in which they ended", () => {
    const log = new LogLines(PLAIN);
    const lines = [
      piece("tests", "one\ntw"),
      piece("fetch", "other\n"),
      piece("tests", "o\nthree"),
    ].flatMap((entry) => log.take(entry));
    expect([...lines, ...log.rest()]).toEqual([
      "tests  one",
      "fetch  other",
      "tests  two",
      "tests  three",
    ]);
  });

  it("has no colours and no escape sequence, and of a progress bar its last state", () => {
    const log = new LogLines(PLAIN);
    expect(log.take(piece("t", "\u001b[31mred\u001b[0m \u0007\u202e\n"))).toEqual([
      "t  red \\u0007\\u202e",
    ]);
    expect(log.take(piece("t", "10%\r50%\r100%\r\n"))).toEqual(["t  100%"]);
  });
});

function journal(...lines: JournalInput[]): JournalEntry[] {
  return lines.map((line, index) => ({ ...line, sequence: index + 1, epoch: 1 }));
}

function piece(node: string, text: string): RunLogEntry {
  return { sequence: 1, at: 0, visit: node === "tests" ? 1 : 2, node, stream: "stdout", text };
}
