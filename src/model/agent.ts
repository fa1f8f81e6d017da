import type { Json } from "./canonical.ts";
import type { JsonSchema } from "./manifest.ts";

/** One question to an agent. */
export type AgentRequest = {
  /** The run, for the log and the agent's process title. */
  runId: string;
  /**
   * Names the conversation within the run: asking again under it continues it, while its agent lives.
   * All its questions have the same tools, model and folder; what the answer must be may differ.
   */
  conversation: string;
  prompt: string;
  /** What the answer must be; checked by the agent's own tool, and again by the node. */
  schema: JsonSchema;
  /** Tools that the agent may use, by Pi's names; the tool that answers is always there. */
  tools: string[];
  model?: string;
  /** Absolute path of the folder it works in. */
  cwd: string;
  /** From the question to its answer. Milliseconds. */
  deadlineMs: number;
};

/** Why an agent gave no answer; each a defined outcome of its node. */
export const AGENT_FAULTS = [
  "PiMissing",
  "PiTooOld",
  "NodeTooOld",
  "PiCrashed",
  "ModelFailed",
  "NoAnswer",
  "Deadline",
  "Cancelled",
  "TooLarge",
  "ConversationChanged",
] as const;
export type AgentFault = (typeof AGENT_FAULTS)[number];

export type AgentAnswer =
  | { state: "answered"; value: Json }
  | {
      state: "failed";
      reason: AgentFault;
      /** What happened, and what to do about it. */
      message: string;
      /** False where asking again can't help: nothing is installed, or it is too old. */
      retryable: boolean;
    };

/** Something that answers: the real Pi, or a script in tests. Never rejects. */
export type AgentPort = {
  /** `onText` gets the transcript as it is made, one saying at a time: prompts, answers, tool calls. */
  ask(
    request: AgentRequest,
    onText: (text: string) => void,
    signal: AbortSignal,
  ): Promise<AgentAnswer>;
  /** Ends a conversation: nothing of it runs when it resolves. */
  close(runId: string, conversation: string): Promise<void>;
  /** Agents alive, for `server status`. */
  alive(): number;
  stop(): Promise<void>;
};
