import path from "node:path";
import type { Json } from "../../model/canonical.ts";
import { LIMITS } from "../../model/limits.ts";
import type { AttemptRef } from "../../model/run.ts";
import type { CommandCall, Work } from "../../workflows/compiled.ts";
import type { NodeContext } from "../../workflows/context.ts";
import type { RunHost, RunPass } from "../run-port.ts";
import type { Attempt } from "./attempt.ts";
import { askAgent, type Question } from "./ask-agent.ts";
import { runCommand, type CommandEnd } from "./command.ts";
import { AttemptFailed } from "./failures.ts";

/** What works need beside their context. */
export type WorkParts = {
  pass: RunPass;
  host: Pick<RunHost, "askAgent" | "closeAgent">;
  /** Milliseconds that the run may still last. */
  remainingMs: () => number;
  log: (attempt: AttemptRef, text: string, stream?: "stdout" | "stderr") => void;
  /** Conversations that are open until the pass ends. */
  conversations: Set<string>;
};

/** A work that is ready to begin: what the journal keeps of it, and how it is done. */
export type Prepared = { input?: Json; act: () => unknown };

/** Computes what a work will do, by the author's functions; nothing outside is touched before `act`. */
export function prepare(parts: WorkParts, attempt: Attempt, ctx: NodeContext): Prepared {
  const { work } = attempt.node;
  switch (work.by) {
    case "code":
      return { act: () => work.run(ctx) };
    case "command":
      return prepareCommand(parts, { attempt, work, ctx });
    case "agent":
      return prepareQuestion(parts, { attempt, work, ctx });
    case "person":
      return { input: { message: bounded("message", work.message(ctx)) }, act: () => undefined };
  }
}

type Of<W extends Work["by"]> = {
  attempt: Attempt;
  work: Extract<Work, { by: W }>;
  ctx: NodeContext;
};

function prepareCommand(parts: WorkParts, { attempt, work, ctx }: Of<"command">): Prepared {
  const { argv, cwd, env } = checkCall(work.call(ctx));
  const folder = path.resolve(parts.pass.project, cwd ?? ".");
  return {
    // Not its environment: it is where secrets are handed over.
    input: { argv: [...argv], cwd: folder },
    async act() {
      const ended = await runCommand({
        argv,
        cwd: folder,
        env,
        signal: attempt.signal,
        onOutput: (stream, text) => parts.log(attempt.ref, text, stream),
      });
      const result = { ...accepted(ended, { argv, work }), ...outputOf(ended) };
      return work.parse === undefined ? result : work.parse(result, ctx);
    },
  };
}

function checkCall(call: CommandCall): CommandCall {
  const isText = (value: unknown): value is string =>
    typeof value === "string" && !value.includes("\0");
  if (!Array.isArray(call.argv) || call.argv.length === 0 || !call.argv.every(isText)) {
    throw new TypeError("command must be an array of texts, the program first");
  }
  if (!Object.values(call.env).every(isText)) throw new TypeError("env must hold texts only");
  bounded("command", JSON.stringify(call.argv));
  return call;
}

function outputOf({ stdout, stderr, isCut }: CommandEnd) {
  return { stdout, stderr, isCut };
}

/** @throws AttemptFailed where the command did not end as the node wants it to. */
function accepted(
  { exitCode, killedBy, stderr, stdout }: CommandEnd,
  { argv, work }: { argv: readonly string[]; work: Extract<Work, { by: "command" }> },
): { exitCode: number } {
  const said = lastLines(stderr.trim() === "" ? stdout : stderr);
  if (exitCode === null) {
    throw new AttemptFailed("Killed", `${argv[0]} was ended by ${killedBy}${said}`);
  }
  if (work.exitCodes === "any" || work.exitCodes.includes(exitCode)) return { exitCode };
  throw new AttemptFailed("ExitCode", `${argv[0]} exited with code ${exitCode}${said}`);
}

const LINES_SHOWN = 10;

function lastLines(text: string): string {
  const lines = text.trimEnd().split("\n").slice(-LINES_SHOWN);
  // One goes on in the sentence, so that where only a first line is shown it is that one.
  if (lines.length === 1) return lines[0] === "" ? "" : `: ${lines[0]?.trimStart()}`;
  return `:\n${lines.join("\n")}`;
}

function prepareQuestion(parts: WorkParts, { attempt, work, ctx }: Of<"agent">): Prepared {
  const { prompt, cwd } = work.ask(ctx);
  const { visit, node, attempt: number } = attempt.ref;
  const own = `${node}#${visit}.${number}`;
  const question: Question = {
    conversation: work.conversation ?? own,
    prompt: bounded("prompt", prompt),
    cwd: path.resolve(parts.pass.project, cwd ?? "."),
    deadlineMs: attempt.plain.deadlineMs ?? Math.max(1, Math.ceil(parts.remainingMs())),
  };
  return {
    input: {
      prompt,
      tools: [...work.tools],
      ...(work.model === undefined ? {} : { model: work.model }),
    },
    async act() {
      parts.conversations.add(question.conversation);
      try {
        return work.valueOf(await askAgent(parts.host, attempt, { question, work }));
      } finally {
        if (work.conversation === undefined) {
          await parts.host.closeAgent(own);
          parts.conversations.delete(own);
        }
      }
    },
  };
}

function bounded(what: string, text: unknown): string {
  if (typeof text !== "string") throw new TypeError(`${what} must be text, not ${typeof text}`);
  const bytes = Buffer.byteLength(text);
  if (bytes <= LIMITS.nodeOutput) return text;
  const message = `the ${what} has ${bytes} bytes, at most ${LIMITS.nodeOutput}`;
  throw new AttemptFailed("TooLarge", message);
}
