import { randomUUID } from "node:crypto";
import { mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { AgentAnswer, AgentRequest } from "../../model/agent.ts";
import { canonicalJson } from "../../model/canonical.ts";
import { LIMITS } from "../../model/limits.ts";
import { redactText } from "../../model/redact.ts";
import { maskSecrets } from "../../model/secret-text.ts";
import type { PiAgentOptions, PiLimits } from "./agents.ts";
import { AnswerWatch, failed } from "./answer.ts";
import { answerParameters } from "./answer-schema.ts";
import { ANSWER_FILE, ANSWER_TOOL, KEPT_IN } from "./answer-tool.ts";
import { watchCallOff } from "./call-off.ts";
import { piEnvironment } from "./environment.ts";
import { isKeptIn } from "./folder.ts";
import { nodeTooOld, PiUnusable, type PiFinder } from "./installation.ts";
import { piCommand, type Surroundings } from "./launch.ts";
import { PiProcess, type PiEnd } from "./process.ts";
import { awaitQuiet, awaitSettled, type Settling } from "./settle.ts";
import { createTranscript, type Transcript } from "./transcript.ts";
import type { PiRecord } from "./wire.ts";

/** What conversations share. */
export type ConversationServices = Omit<PiAgentOptions, "limits"> & {
  limits: PiLimits;
  finder: PiFinder;
  /** Values that must not be read in what Pi says, longest first. */
  secrets: readonly string[];
  /** Folder for the private files of live conversations. */
  files: string;
};

/** One question and how it is asked. */
export type Question = {
  request: AgentRequest;
  onText: (text: string) => void;
  signal: AbortSignal;
};

/** A Pi that is ready for prompts. */
type Ready = { process: PiProcess; settling: () => Settling };

const CALL_IT = `Call the tool ${ANSWER_TOOL} with the result of your work as its argument \`result\``;
const REMINDER = `You ended your turn without handing over a result. ${CALL_IT} now.`;

/** One conversation with one Pi, one question at a time. */
export class Conversation {
  readonly #services: ConversationServices;
  readonly #surroundings: Surroundings;
  readonly #answerFile: string;
  #process: PiProcess | undefined;
  #ready: Ready | undefined;
  /** Gets what Pi says: the question that is being answered. */
  #listen: (record: PiRecord) => void = () => {};
  /** Set when its Pi is gone or about to be: it takes no further question. */
  #ended = false;
  #callClosed!: (answer: AgentAnswer) => void;
  readonly #closed = new Promise<AgentAnswer>((resolve) => (this.#callClosed = resolve));
  /** Resolves when the questions asked so far are answered. */
  #answered: Promise<unknown> = Promise.resolve();

  constructor(services: ConversationServices, request: AgentRequest) {
    this.#services = services;
    this.#surroundings = surroundingsOf(request);
    this.#answerFile = path.join(services.files, `${randomUUID()}.json`);
  }

  /** False when it takes no further question: it was closed, it failed, or its Pi ended. */
  get isOpen(): boolean {
    return !this.#ended;
  }

  get isAlive(): boolean {
    return this.#process !== undefined;
  }

  /** Answers a question after those before it. A question that fails ends the conversation. */
  ask(question: Question): Promise<AgentAnswer> {
    const answer = this.#inTurn(this.#answered, question);
    this.#answered = answer;
    return answer;
  }

  /** Ends the Pi and all that it started. */
  async close(): Promise<void> {
    this.#callClosed(failed("Cancelled", "The conversation was closed"));
    await this.#end();
    await this.#answered;
    await this.#end();
  }

  async #inTurn(before: Promise<unknown>, question: Question): Promise<AgentAnswer> {
    const { request, signal } = question;
    const callOff = watchCallOff(this.#services.clock, request.deadlineMs, signal);
    try {
      const called = Promise.race([callOff.answer, this.#closed]);
      const early = await Promise.race([before.then(() => undefined), called]);
      const refused = early ?? this.#refusal(request);
      if (refused) return refused;
      const answer = await Promise.race([called, this.#converse(question)]);
      this.#listen = () => {};
      if (answer.state === "answered") return answer;
      await this.#end();
      return { ...answer, message: this.#masked(answer.message) };
    } finally {
      callOff.forget();
    }
  }

  #refusal(request: AgentRequest): AgentAnswer | undefined {
    if (this.#ended) return failed("Cancelled", "The conversation ended before this question");
    if (canonicalJson(surroundingsOf(request)) !== canonicalJson(this.#surroundings)) {
      const message =
        "The conversation began with other tools, another model or another folder; give all its nodes the same `tools`, `model` and `cwd`";
      return failed("ConversationChanged", message, false);
    }
    const { cwd } = request;
    if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() === true) return undefined;
    return failed("PiCrashed", `The agent's folder does not exist: ${cwd}`, false);
  }

  async #converse({ request, onText }: Question): Promise<AgentAnswer> {
    const transcript = createTranscript(onText, this.#services.secrets);
    try {
      this.#writeSchema(request);
      this.#ready ??= await this.#start(request);
      const ready = this.#ready;
      return await Promise.race([
        this.#answer(ready, request, transcript),
        ready.process.gone.then((end) => this.#crashed(end)),
      ]);
    } catch (error) {
      if (error instanceof PiUnusable) return failed(error.reason, error.message, false);
      const { message } = error as Error;
      return failed("PiCrashed", `The agent could not be started: ${message}`);
    }
  }

  /** Prompts until there is an answer, or no hope for one. */
  async #answer(
    { process, settling }: Ready,
    { prompt: asked }: AgentRequest,
    transcript: Transcript,
  ): Promise<AgentAnswer> {
    const watch = new AnswerWatch(() => process.abort());
    transcript.prompt(asked);
    let prompt = `${asked}\n\n${CALL_IT} when you are done.`;
    for (let reminders = 0; ; reminders += 1) {
      const turn = settling();
      this.#listen = (record) => {
        transcript.event(record);
        watch.take(record);
        turn.take(record);
      };
      const refused = await promptOnce(process, prompt);
      if (refused !== undefined) return failed("ModelFailed", `Pi refused the prompt: ${refused}`);
      await turn.settled;
      const outcome = watch.afterTurn();
      if (outcome) return outcome;
      if (reminders === LIMITS.agentCorrections) return watch.inVain();
      prompt = REMINDER;
      transcript.prompt(prompt);
    }
  }

  /** Starts Pi and awaits that it answers, or has ended. One that is silent for too long is ended. */
  async #start({ runId, conversation }: AgentRequest): Promise<Ready> {
    const { finder, env, credentials, clock, limits, log } = this.#services;
    const installation = await finder.find();
    // It may have been called off meanwhile, and nobody listens to this.
    if (this.#ended) throw new Error("the conversation has ended");
    const { cwd, tools } = this.#surroundings;
    const own = { [ANSWER_FILE]: this.#answerFile, ...(isKeptIn(tools) ? { [KEPT_IN]: cwd } : {}) };
    const process = new PiProcess({
      ...this.#services,
      command: piCommand(installation, this.#surroundings),
      cwd,
      env: { ...piEnvironment(env), ...credentials, ...own },
      onEvent: (record) => this.#listen(record),
    });
    this.#process = process;
    const about = { runId, conversation, pid: process.pid };
    log.info("An agent started", { ...about, pi: installation.version });
    const onGone = ({ reason }: PiEnd): void => {
      this.#ended = true;
      this.#process = undefined;
      log.info("An agent ended", { ...about, reason });
    };
    void process.gone.then(onGone);
    const cancel = clock.schedule(() => {
      void process.stop(`it did not answer within ${limits.readyMs} ms`);
    }, limits.readyMs);
    const state = (): ReturnType<PiProcess["request"]> => process.request({ type: "get_state" });
    await state();
    cancel();
    const { saysSettled } = installation;
    return { process, settling: () => (saysSettled ? awaitSettled() : awaitQuiet(state)) };
  }

  #crashed({ reason, stderr }: PiEnd): AgentAnswer {
    const tooOld = nodeTooOld(stderr);
    if (tooOld) return failed(tooOld.reason, tooOld.message, false);
    const said = stderr.trim() === "" ? "" : `: ${stderr.trim().slice(-1_000)}`;
    return failed("PiCrashed", `Pi ended before the agent answered: ${reason}${said}`);
  }

  async #end(): Promise<void> {
    this.#ended = true;
    await this.#process?.stop();
    rmSync(this.#answerFile, { force: true });
  }

  #writeSchema({ schema }: AgentRequest): void {
    mkdirSync(this.#services.files, { recursive: true, mode: 0o700 });
    writeFileSync(this.#answerFile, JSON.stringify(answerParameters(schema)), { mode: 0o600 });
  }

  #masked(text: string): string {
    return redactText(maskSecrets(text, this.#services.secrets));
  }
}

function surroundingsOf({ tools, model, cwd }: AgentRequest): Surroundings {
  return { tools, cwd, ...(model === undefined ? {} : { model }) };
}

/** Sends a prompt. Returns why Pi did not take it for one, if it did not. */
async function promptOnce(process: PiProcess, message: string): Promise<string | undefined> {
  const response = await process.request({ type: "prompt", message });
  if (response?.success === false) return response.error ?? "it gave no reason";
  return response?.disposition === "handled" ? "it took it for a command" : undefined;
}
