import { describe, expect, it } from "vitest";
import { AnswerWatch } from "../../src/runner/pi/answer.ts";
import { createTranscript } from "../../src/runner/pi/transcript.ts";
import { responseOf, type PiRecord } from "../../src/runner/pi/wire.ts";

/** Kinds that no member of a record has, and one that can't be made a text. */
const ODD: readonly unknown[] = [
  null,
  7,
  [],
  [null],
  [[]],
  {},
  { toString: 1 },
  [{ type: "text", text: { a: 1 } }],
];

const message = (more: object): PiRecord => ({
  type: "message_end",
  message: { role: "assistant", ...more },
});
const submitted = (more: object): PiRecord => ({
  type: "tool_execution_end",
  toolName: "submit_result",
  ...more,
});

describe("what Pi says, with members of other kinds", () => {
  it.each(ODD.map((odd) => [odd]))("%j is no fault of whoever listens", (odd) => {
    const watch = new AnswerWatch(() => undefined);
    const transcript = createTranscript(() => undefined, []);
    const records: PiRecord[] = [
      { type: "message_end", message: odd },
      message({ content: odd }),
      message({ stopReason: "error", errorMessage: odd }),
      submitted({ result: odd }),
      submitted({ isError: true, result: { content: odd } }),
      { type: "tool_execution_start", toolName: odd, args: odd },
      { type: "auto_retry_start", attempt: odd, errorMessage: odd },
    ];
    for (const record of records) {
      watch.take(record);
      transcript.event(record);
    }
    expect(watch.afterTurn()?.state ?? "none").not.toBe("answered");
    expect(watch.inVain().state).toBe("failed");
    expect(responseOf({ type: "response", id: odd, error: odd, data: odd }).isBusy).toBe(false);
  });

  it("an answer that is not there is none", () => {
    const watch = new AnswerWatch(() => undefined);
    watch.take(submitted({ isError: false, result: { details: {} } }));
    expect(watch.afterTurn()).toBeUndefined();
    watch.take(submitted({ isError: false, result: { details: { result: null } } }));
    expect(watch.afterTurn()).toEqual({ state: "answered", value: null });
  });
});
