import { CUT, LIMITS, truncate } from "../../model/limits.ts";
import { redactText } from "../../model/redact.ts";
import { maskSecrets } from "../../model/secret-text.ts";
import { ANSWER_TOOL } from "./answer-tool.ts";
import { messageOf, toolEndOf, wordOf, type PiRecord } from "./wire.ts";

/** Bytes that a transcript has of a tool's arguments and of its result. */
const ARGUMENTS = 512;
const RESULT = 2 * 1024;

/** The transcript of one question, as people read it. */
export type Transcript = {
  prompt(text: string): void;
  event(record: PiRecord): void;
};

/** Writes what is said to `onText`: credentials masked, each piece and the whole bounded. */
export function createTranscript(
  onText: (text: string) => void,
  secrets: readonly string[],
): Transcript {
  let left: number = LIMITS.agentTranscript;
  const write = (text: string): void => {
    if (left <= 0) return;
    const piece = truncate(redactText(maskSecrets(text, secrets)), LIMITS.runLogPiece);
    left -= Buffer.byteLength(piece);
    onText(left > 0 ? piece : `${piece}\n${CUT}: the rest of this transcript is not kept`);
  };
  return {
    prompt: (text) => write(`▶ ${text}`),
    event(record) {
      const text = textOfEvent(record);
      if (text !== undefined) write(text);
    },
  };
}

function textOfEvent(record: PiRecord): string | undefined {
  switch (record.type) {
    case "message_end":
      return textOfMessage(record);
    case "tool_execution_start":
      return `⚙ ${wordOf(record.toolName)} ${short(record.args, ARGUMENTS)}`;
    case "tool_execution_end":
      return textOfResult(record);
    case "auto_retry_start":
      return `↻ asking the model again (${wordOf(record.attempt)}): ${wordOf(record.errorMessage)}`;
    case "compaction_start":
      return "↻ shortening the conversation";
    default:
      return undefined;
  }
}

function textOfMessage(record: PiRecord): string | undefined {
  const { role, text, stopReason, errorMessage } = messageOf(record);
  if (role !== "assistant") return undefined;
  if (stopReason === "error") return `✗ ${errorMessage ?? "the model failed"}`;
  return text.trim() === "" ? undefined : text.trim();
}

function textOfResult(record: PiRecord): string | undefined {
  const { toolName, isError, text } = toolEndOf(record);
  // The answer stands with the node that asked.
  if (toolName === ANSWER_TOOL && !isError) return undefined;
  return `${isError ? "✗" : "  "} ${truncate(text.trim(), RESULT)}`;
}

function short(value: unknown, bytes: number): string {
  return truncate(value === undefined ? "" : JSON.stringify(value), bytes);
}
