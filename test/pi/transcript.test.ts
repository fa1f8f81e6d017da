import { describe, expect, it } from "vitest";
import { byteLength, LIMITS } from "../../src/model/limits.ts";
import { createTranscript } from "../../src/runner/pi/transcript.ts";

function transcriptOf(write: (transcript: ReturnType<typeof createTranscript>) => void): string[] {
  const texts: string[] = [];
  write(createTranscript((text) => texts.push(text), ["s3cret-value"]));
  return texts;
}

const says = (text: string) => ({
  type: "message_end",
  message: { role: "assistant", content: [{ type: "text", text }] },
});

describe("the transcript of an agent", () => {
  it("is kept up to its limit, and says where it was cut", () => {
    const piece = "x".repeat(10_000);
    const fitting = Math.ceil(LIMITS.agentTranscript / 10_000) - 1;

    const whole = transcriptOf((it) => {
      for (let i = 0; i < fitting; i += 1) it.event(says(piece));
    });
    const long = transcriptOf((it) => {
      for (let i = 0; i < fitting + 100; i += 1) it.event(says(piece));
    });

    expect(whole).toEqual(Array(fitting).fill(piece));
    expect(long).toHaveLength(fitting + 1);
    expect(long.at(-1)).toBe(`${piece}\n… (cut): the rest of this transcript is not kept`);
  });

  it("cuts each piece, arguments and results of tools most", () => {
    const [text, call, result] = transcriptOf((it) => {
      it.event(says("x".repeat(100_000)));
      it.event({ type: "tool_execution_start", toolName: "write", args: { x: "y".repeat(9_000) } });
      it.event({
        type: "tool_execution_end",
        toolName: "read",
        result: { content: [{ type: "text", text: "z".repeat(9_000) }] },
      });
    });

    expect(byteLength(text as string)).toBe(LIMITS.runLogPiece);
    expect(call).toMatch(/^⚙ write \{"x":"y{400,512}… \(cut\)$/);
    expect(result).toMatch(/^ {3}z{1900,2048}… \(cut\)$/);
  });

  it("masks what must not be read", () => {
    const texts = transcriptOf((it) => {
      it.prompt("use s3cret-value and ghp_abcdefghijklmnopqrstuvwxyz0123456789");
    });

    expect(texts).toEqual(["▶ use [secret] and [redacted]"]);
  });
});
