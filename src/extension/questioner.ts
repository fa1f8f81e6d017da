import type { RunQuestion } from "../model/run.ts";
import { printable } from "../model/text.ts";
import { PiWorkflowsError, type ErrorCode } from "../model/errors.ts";
import { askQuestion } from "./ask.ts";
import { describeError } from "./errors.ts";
import { follow } from "./follow.ts";
import type { Ui } from "./pi.ts";
import { Soon } from "./soon.ts";
import type { Session } from "./session.ts";

export type QuestionerOptions = {
  session: Session;
  ui: Ui;
  onTrouble: (thrown: unknown) => void;
};

type Open = { question: RunQuestion; gone: AbortController };

// A run that changes often is asked about once.
const SETTLE_MS = 60;

/**
 * Asks the questions of the runs that a session started, one at a time, by Pi's dialogs. The answer
 * is the server's to keep: the first one wins, and a dialog whose question was answered elsewhere
 * goes away.
 */
export class Questioner {
  readonly #options: QuestionerOptions;
  readonly #soon = new Soon(SETTLE_MS, () => this.#look());
  /** Questions that were asked here, so that one that was put off is not asked again and again. */
  readonly #asked = new Set<string>();
  readonly #open = new Map<string, Open>();
  #waiting: RunQuestion[] = [];
  #asking = false;

  constructor(options: QuestionerOptions) {
    this.#options = options;
  }

  /** Watches the session's runs until the session ends. */
  async run(): Promise<void> {
    const { session, onTrouble } = this.#options;
    const { link, id } = session;
    link.closed.addEventListener("abort", () => this.#end());
    await follow({
      open: (signal) => link.client().watchRuns({ session: id }, signal),
      onItem: () => this.#soon.ask(),
      onLost: () => undefined,
      onTrouble,
      signal: link.closed,
    });
  }

  #end(): void {
    this.#soon.cancel();
    for (const { gone } of this.#open.values()) gone.abort();
  }

  async #look(): Promise<void> {
    const { session, onTrouble } = this.#options;
    try {
      const questions = await session.link.ask(
        (client) => client.questions({ session: session.id }),
        false,
      );
      if (session.link.closed.aborted) return;
      const keys = new Set(questions.map(keyOf));
      for (const [key, { gone }] of this.#open) if (!keys.has(key)) gone.abort();
      this.#waiting = questions.filter((question) => !this.#asked.has(keyOf(question)));
      if (!this.#asking) await this.#askAll();
    } catch (thrown) {
      if (!session.link.closed.aborted) onTrouble(thrown);
    }
  }

  async #askAll(): Promise<void> {
    const { session } = this.#options;
    this.#asking = true;
    try {
      for (
        let question = this.#waiting.shift();
        question && !session.link.closed.aborted;
        question = this.#waiting.shift()
      ) {
        this.#asked.add(keyOf(question));
        await this.#ask(question);
      }
    } finally {
      this.#asking = false;
    }
  }

  async #ask(question: RunQuestion): Promise<void> {
    const { session, ui } = this.#options;
    const gone = new AbortController();
    this.#open.set(keyOf(question), { question, gone });
    const signal = AbortSignal.any([gone.signal, session.link.closed]);
    try {
      await answerByDialog({ session, ui, question, signal });
      if (gone.signal.aborted && !session.link.closed.aborted) {
        ui.notify(`${printable(question.node)} was answered elsewhere.`, "info");
      }
    } finally {
      this.#open.delete(keyOf(question));
    }
  }
}

type Asked = { session: Session; ui: Ui; question: RunQuestion; signal: AbortSignal };

/**
 * Asks until there is an answer that the run takes, and says what became of it. Where it is left
 * unanswered, how to answer later.
 */
export async function answerByDialog({ session, ui, question, signal }: Asked): Promise<void> {
  const { runId, node, visit } = question;
  for (;;) {
    const answer = await askQuestion(ui, question, signal);
    if (signal.aborted) return;
    if (!answer) {
      ui.notify(`Not answered. Answer later with /workflow answer ${runId}`, "info");
      return;
    }
    try {
      await session.link.ask(
        (client) => client.answerRun({ runId, node, visit, value: answer.value }),
        true,
      );
      ui.notify(`${printable(node)} is answered; the run goes on.`, "info");
      return;
    } catch (thrown) {
      if (session.link.closed.aborted) return;
      ui.notify(describeError(thrown), "error");
      if (!isMendable(thrown)) return;
    }
  }
}

/** Whether another answer may help. */
function isMendable(thrown: unknown): boolean {
  const codes: readonly ErrorCode[] = ["INVALID_INPUT", "TOO_LARGE"];
  return thrown instanceof PiWorkflowsError && codes.includes(thrown.code);
}

function keyOf({ runId, visit, node }: RunQuestion): string {
  return `${runId} ${visit} ${node}`;
}
