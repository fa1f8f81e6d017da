import { describe, expect, it } from "vitest";
import { awaitQuiet, awaitSettled, type Settling } from "../../src/runner/pi/settle.ts";
import { responseOf, type PiRecord, type PiResponse } from "../../src/runner/pi/wire.ts";

const state = (isStreaming: boolean): PiResponse =>
  responseOf({ type: "response", success: true, data: { isStreaming, isCompacting: false } });
const IDLE = state(false);

/** After which of the records it counted as settled; undefined where never. */
async function settledAfter(
  settling: Settling,
  records: (string | PiRecord)[],
): Promise<number | undefined> {
  let isSettled = false;
  void settling.settled.then(() => (isSettled = true));
  for (const [index, record] of records.entries()) {
    settling.take(typeof record === "string" ? { type: record } : record);
    // Pi answers a question in a later turn of its event loop.
    await new Promise((resolve) => setImmediate(resolve));
    if (isSettled) return index;
  }
  return undefined;
}

const quiet = (...states: PiResponse[]): Settling =>
  awaitQuiet(() => Promise.resolve(states.shift() ?? IDLE));

describe("the end of what follows a prompt", () => {
  it("is what Pi calls it, but not before the prompt's own start", async () => {
    const records = ["agent_settled", "agent_start", "agent_end", "agent_settled"];
    expect(await settledAfter(awaitSettled(), records)).toBe(3);
  });

  it("is the end of the agent where an older Pi does nothing more", async () => {
    expect(await settledAfter(quiet(), ["agent_end", "agent_start", "agent_end"])).toBe(2);
  });

  it("comes after the tries that follow, whether they succeed or not", async () => {
    const tries = ["agent_start", "agent_end", "auto_retry_start", "agent_start", "agent_end"];
    // The records that belong together come in one turn of Pi: before the answer to a question.
    const together = (records: string[]): Settling => {
      const settling = quiet(state(true));
      for (const type of records) settling.take({ type });
      return settling;
    };
    expect(await settledAfter(together(tries.slice(0, 3)), tries.slice(3))).toBe(1);
    const failed = together(tries.slice(0, 3));
    expect(await settledAfter(failed, ["auto_retry_end"])).toBe(0);
  });

  it("comes after another run where Pi says at the end that one follows", async () => {
    const willRetry = { type: "agent_end", willRetry: true };
    const records = ["agent_start", willRetry, "auto_retry_start", "agent_start", "agent_end"];
    expect(await settledAfter(quiet(), records)).toBe(4);
  });

  it("comes after a conversation was shortened, and after what is done with the shorter one", async () => {
    const settling = quiet();
    for (const type of ["agent_start", "agent_end", "compaction_start"]) settling.take({ type });
    const again = { type: "compaction_end", willRetry: true };
    expect(await settledAfter(settling, [again, "agent_start", "agent_end"])).toBe(2);
  });
});
