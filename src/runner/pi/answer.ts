import type { AgentAnswer, AgentFault } from "../../model/agent.ts";
import type { Json } from "../../model/canonical.ts";
import { byteLength, LIMITS } from "../../model/limits.ts";
import { ANSWER_TOOL } from "./answer-tool.ts";
import { messageOf, toolEndOf, type PiMessage, type PiRecord } from "./wire.ts";

/** An answer that is none, and why. */
export function failed(reason: AgentFault, message: string, retryable = true): AgentAnswer {
  return { state: "failed", reason, message, retryable };
}

/** What the turns of one question came to so far. */
export class AnswerWatch {
  #answer: AgentAnswer | undefined;
  #refused: string | undefined;
  #refusals = 0;
  #modelError: string | undefined;
  readonly #abort: () => void;

  /** `abort` ends the turn: where there is an answer, or no hope for one. */
  constructor(abort: () => void) {
    this.#abort = abort;
  }

  take(record: PiRecord): void {
    switch (record.type) {
      case "tool_execution_end":
        if (record.toolName === ANSWER_TOOL) this.#onSubmitted(record);
        return;
      case "turn_start":
        // A model that calls other tools beside the answer's would go on, and nobody listens.
        if (this.#answer) this.#abort();
        return;
      case "message_end":
        return this.#onMessage(messageOf(record));
      default:
    }
  }

  /** The outcome when a turn has ended; undefined where asking for the answer may help. */
  afterTurn(): AgentAnswer | undefined {
    if (this.#answer) return this.#answer;
    if (this.#modelError === undefined) return undefined;
    return failed("ModelFailed", `The model failed: ${this.#modelError}`);
  }

  /** The outcome when it was asked for in vain. */
  inVain(): AgentAnswer {
    const why = this.#refused === undefined ? "" : `; its last one was refused: ${this.#refused}`;
    return failed("NoAnswer", `The agent ended its turn without calling ${ANSWER_TOOL}${why}`);
  }

  #onSubmitted(record: PiRecord): void {
    const { isError, text, result } = toolEndOf(record);
    if (record.isCut === true) return this.#tooLarge();
    if (isError) {
      // Pi appends the arguments; the transcript has them.
      this.#refused = text.split("\n\nReceived arguments:")[0] as string;
      this.#refusals += 1;
      if (this.#refusals <= LIMITS.agentCorrections) return;
      const times = `${this.#refusals} times`;
      this.#answer = failed(
        "NoAnswer",
        `The agent's answer was refused ${times}: ${this.#refused}`,
      );
      return this.#abort();
    }
    // Of another tool of that name.
    if (result === undefined) return;
    if (byteLength(JSON.stringify(result)) > LIMITS.nodeOutput) return this.#tooLarge();
    this.#answer = { state: "answered", value: result as Json };
  }

  #tooLarge(): void {
    const message = `The agent's answer is over ${LIMITS.nodeOutput} bytes; ask it to write a file, and for the file's name`;
    this.#answer = failed("TooLarge", message);
  }

  #onMessage({ role, stopReason, errorMessage }: PiMessage): void {
    if (role !== "assistant") return;
    const isError = stopReason === "error";
    this.#modelError = isError ? (errorMessage ?? "it gave no reason") : undefined;
  }
}
