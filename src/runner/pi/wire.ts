/** The part of Pi's RPC protocol that we speak, as Pi 0.73 to 1.6 have it on the wire. */

/** What is sent to Pi. */
export type PiCommand =
  | { type: "get_state" }
  | { type: "prompt"; message: string }
  | { type: "abort" };

/** A record of Pi: a response to a command, or an event. Nothing but `type` is sure. */
export type PiRecord = { type: string } & Record<string, unknown>;

/** A response to a command. */
export type PiResponse = {
  id: string | undefined;
  success: boolean;
  error: string | undefined;
  /** Of `get_state`: whether it is at work. */
  isBusy: boolean;
  /** Of `prompt`: what became of it. */
  disposition: string | undefined;
};

/** A message of the conversation, as `message_end` has it. */
export type PiMessage = {
  role: string | undefined;
  text: string;
  stopReason: string | undefined;
  errorMessage: string | undefined;
};

/** The end of a tool call. */
export type PiToolEnd = {
  toolName: string | undefined;
  isError: boolean;
  text: string;
  /** What `submit_result` took. */
  result: unknown;
};

/**
 * Events that repeat what others say in the end. Pi 0.73 writes the whole message again for every
 * word of it, so they are not even parsed.
 */
const REPETITIONS = ["message_update", "tool_execution_update", "bash_execution_update"];

const TYPE_AT_START = /^\{(?:"id":"[^"]*",)?"type":"(\w+)"/;

/**
 * Reads one line of Pi's output; undefined for what is no record, or says nothing new. Of a line that
 * was cut only the beginning is known: its type, and the tool that it is about.
 */
export function parseRecord(line: string, isCut: boolean): PiRecord | undefined {
  const type = TYPE_AT_START.exec(line)?.[1];
  if (type !== undefined && REPETITIONS.includes(type)) return undefined;
  if (isCut) {
    if (type === undefined) return undefined;
    const toolName = /"toolName":"([^"]*)"/.exec(line)?.[1];
    return { type, isCut, ...(toolName === undefined ? {} : { toolName }) };
  }
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is PiRecord {
  return typeof membersOf(value)["type"] === "string";
}

// An agent's extensions write into what it says: a member may hold anything, or not be there.

/** @see PiResponse */
export function responseOf(record: PiRecord): PiResponse {
  const { isStreaming, isCompacting, disposition } = membersOf(record["data"]);
  return {
    id: wordOf(record["id"]),
    success: record["success"] !== false,
    error: wordOf(record["error"]),
    isBusy: isStreaming === true || isCompacting === true,
    disposition: wordOf(disposition),
  };
}

/** @see PiMessage */
export function messageOf(record: PiRecord): PiMessage {
  const { role, content, stopReason, errorMessage } = membersOf(record["message"]);
  return {
    role: wordOf(role),
    text: textOf(content),
    stopReason: wordOf(stopReason),
    errorMessage: wordOf(errorMessage),
  };
}

/** @see PiToolEnd */
export function toolEndOf(record: PiRecord): PiToolEnd {
  const { content, details } = membersOf(record["result"]);
  return {
    toolName: wordOf(record["toolName"]),
    isError: record["isError"] === true,
    text: textOf(content),
    result: membersOf(details)["result"],
  };
}

/** A text or number; undefined for what is neither. */
export function wordOf(value: unknown): string | undefined {
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}

/** The text of a message or of a tool's result. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map(membersOf)
    .map(({ type, text }) => (type === "text" ? (wordOf(text) ?? "") : ""))
    .join("");
}

function membersOf(value: unknown): Partial<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? value : {};
}
