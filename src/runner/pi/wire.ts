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
  success: boolean;
  error?: string;
  data?: { isStreaming?: boolean; isCompacting?: boolean; disposition?: string };
};

/** A message of the conversation, as `message_end` has it. */
export type PiMessage = {
  role?: string;
  content?: string | { type: string; text?: string; name?: string; arguments?: unknown }[];
  stopReason?: string;
  errorMessage?: string;
};

/** The end of a tool call. */
export type PiToolEnd = {
  toolName?: string;
  isError?: boolean;
  result?: { content?: { type: string; text?: string }[]; details?: { result?: unknown } };
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
  return typeof value === "object" && value !== null && "type" in value
    ? typeof value.type === "string"
    : false;
}

/** The text of a message or of a tool's result. */
export function textOf(content: PiMessage["content"]): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (part.type === "text" ? (part.text ?? "") : "")).join("");
}
