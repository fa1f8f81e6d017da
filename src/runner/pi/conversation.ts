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
import { ANSWER_FILE, ANSWER_TOOL } from "./answer-tool.ts";
import { piEnvironment } from "./environment.ts";
import { nodeTooOld, PiUnusable, type PiFinder, type PiInstallation } from "./installation.ts";
import { piCommand, type Surroundings } from "./launch.ts";
import { PiProcess, type PiEnd } from "./process.ts";
import { awaitQuiet, awaitSettled } from "./settle.ts";
import { createTranscript, type Transcript } from "./transcript.ts";
import type { PiRecord } from "./wire.ts";

/** What conversations share. */
export type ConversationServices = Omit<PiAgentOptions, "limits"> & {
  limits: PiLimits;
  find: PiFinder;
  /** Values that must not be read in what Pi says. */
  secrets: readonly string[];
};

/** One question and what it is asked with. */
export type Question = {
  request: AgentRequest;
  onText: (text: string) => void;
  signal: AbortSignal;
};

const CALL_IT = `Call the tool ${ANSWER_TOOL} with the result of your work as its argument \`result\``;
const REMINDER = `You ended your turn without handing over a result. ${CALL_IT} now.`;

/** One conversation with one Pi, one question at a time. */
export class Conversation {
  readonly #services: ConversationServices;
  readonly #surroundings: Surroundings;
  readonly #answerFile: string;
  #installation: PiInstallation | undefined;
  #process: PiProcess | undefined;
  #listen: (record: PiRecord) => void = () => {};
  /** Set when its Pi is gone or about to be: it takes no further question. */
  #ended = false;
  #closing = false;
  /** Resolves when the questions asked so far are answered. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(services: ConversationServices, { tools, model, cwd }: AgentRequest) {
    this.#services = services;
    this.#surroundings = { tools, cwd, ...(model === undefined ? {} : { model }) };
    this.#answerFile = path.join(services.home, "agents", `${randomUUID()}.json`);
  }

  /** False when it takes no further question: it was closed, it failed, or its Pi ended. */
  get isOpen(): boolean {
    return !this.#ended;
  }

  get isAlive(): boolean {
    return this.#process !== undefined;
  }

  /** Answers a question after those before it. A question that fails ends the conversation. */
  async ask(question: Question): Promise<AgentAnswer> {
    const before = this.#turn;
    const { promise: called, stop } = this.#callOff(question);
    const answered = this.#inTurn(before, called, question);
    this.#turn = answered;
    const answer = await answered;
    stop();
    return answer;
  }

  /** Ends the Pi and all that it started. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#ended = true;
    await this.#process?.stop();
    await this.#turn;
    await this.#end();
  }

  async #inTurn(
    before: Promise<unknown>,
    called: Promise<AgentAnswer>,
    question: Question,
  ): Promise<AgentAnswer> {
    const early = await Promise.race([before.then(() => undefined), called]);
    if (early) return early;
    const refused = this.#refusal(question.request);
    if (refused) return refused;
    const transcript = createTranscript(question.onText, this.#services.secrets);
    const answer = this.#masked(await Promise.race([called, this.#converse(question, transcript)]));
    this.#listen = () => {};
    if (answer.state === "failed") await this.#end();
    return answer;
  }

  #refusal({ tools, model, cwd }: AgentRequest): AgentAnswer | undefined {
    if (this.#ended) return failed("Cancelled", "The conversation ended before this question");
    const other = { tools, cwd, ...(model === undefined ? {} : { model }) };
    if (canonicalJson(other) !== canonicalJson(this.#surroundings)) {
      const message =
        "The conversation began with other tools, another model or another folder; give all its nodes the same `tools`, `model` and `cwd`";
      return failed("ConversationChanged", message, false);
    }
    if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true) {
      return failed("PiCrashed", `The agent's folder does not exist: ${cwd}`, false);
    }
    return undefined;
  }

  /** Resolves when the question is out of time or called off. */
  #callOff({ request, signal }: Question): { promise: Promise<AgentAnswer>; stop: () => void } {
    let call!: (answer: AgentAnswer) => void;
    const promise = new Promise<AgentAnswer>((resolve) => (call = resolve));
    const onAbort = (): void => call(failed("Cancelled", "The question was called off", false));
    const cancel = this.#services.clock.schedule(
      () => call(failed("Deadline", `The agent gave no answer within ${request.deadlineMs} ms`)),
      request.deadlineMs,
    );
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
    return {
      promise,
      stop: () => {
        cancel();
        signal.removeEventListener("abort", onAbort);
      },
    };
  }

  async #converse({ request }: Question, transcript: Transcript): Promise<AgentAnswer> {
    try {
      this.#writeSchema(request);
      const process = this.#process ?? (await this.#start(request));
      return await Promise.race([
        this.#answer(process, request, transcript),
        process.gone.then((end) => this.#crashed(end)),
      ]);
    } catch (error) {
      if (error instanceof PiUnusable) return failed(error.reason, error.message, false);
      const { message } = error as Error;
      return failed("PiCrashed", `The agent could not be started: ${message}`);
    }
  }

  async #answer(
    process: PiProcess,
    request: AgentRequest,
    transcript: Transcript,
  ): Promise<AgentAnswer> {
    const watch = new AnswerWatch(() => process.abort());
    transcript.prompt(request.prompt);
    let prompt = `${request.prompt}\n\n${CALL_IT} when you are done.`;
    for (let reminders = 0; ; reminders += 1) {
      const refused = await this.#runTurn(process, prompt, (record) => {
        transcript.event(record);
        watch.take(record);
      });
      if (refused !== undefined)
        return failed("ModelFailed", `Pi refused the question: ${refused}`);
      const outcome = watch.afterTurn();
      if (outcome) return outcome;
      if (reminders === LIMITS.agentCorrections) return watch.inVain();
      prompt = REMINDER;
      transcript.prompt(prompt);
    }
  }

  /** Sends one prompt and awaits the end of all that follows. Returns why Pi refused it, if it did. */
  async #runTurn(
    process: PiProcess,
    message: string,
    onEvent: (record: PiRecord) => void,
  ): Promise<string | undefined> {
    const settling = this.#installation?.saysSettled
      ? awaitSettled()
      : awaitQuiet(() => process.request({ type: "get_state" }));
    this.#listen = (record) => {
      onEvent(record);
      settling.take(record);
    };
    const response = await process.request({ type: "prompt", message });
    if (response?.success === false) return response.error ?? "it gave no reason";
    if (response?.data?.disposition === "handled") return "it took the prompt for a command";
    await settling.settled;
    return undefined;
  }

  async #start({ runId, conversation }: AgentRequest): Promise<PiProcess> {
    const { env, credentials, home, token, limits, clock, log, find } = this.#services;
    const installation = await find();
    // It may have been called off meanwhile.
    if (this.#ended) throw new Error("the conversation has ended");
    this.#installation = installation;
    const process = new PiProcess({
      command: piCommand(installation, this.#surroundings),
      cwd: this.#surroundings.cwd,
      env: { ...piEnvironment(env), ...credentials, [ANSWER_FILE]: this.#answerFile },
      onEvent: (record) => this.#listen(record),
      home,
      token,
      limits,
      clock,
    });
    this.#process = process;
    const { pid } = process;
    log.info("An agent started", { runId, conversation, pid, pi: installation.version });
    const onGone = ({ reason }: PiEnd): void => {
      this.#ended = true;
      this.#process = undefined;
      log.info("An agent ended", { runId, conversation, pid, reason });
    };
    void process.gone.then(onGone);
    await this.#ready(process);
    return process;
  }

  /** Resolves when Pi answers, or has ended. A Pi that is silent for too long is ended. */
  async #ready(process: PiProcess): Promise<void> {
    const { clock, limits } = this.#services;
    const cancel = clock.schedule(() => {
      void process.stop(`it did not answer within ${limits.readyMs} ms`);
    }, limits.readyMs);
    await process.request({ type: "get_state" });
    cancel();
  }

  #crashed({ reason, stderr }: PiEnd): AgentAnswer {
    if (this.#closing) return failed("Cancelled", "The conversation was closed", false);
    const tooOld = nodeTooOld(stderr);
    if (tooOld) return failed(tooOld.reason, tooOld.message, false);
    const said = stderr.trim() === "" ? "" : `: ${stderr.trim().slice(-1_000)}`;
    return failed("PiCrashed", `Pi ended before the agent answered: ${reason}${said}`);
  }

  /** After a failure: what the agent was doing is ended with its Pi. */
  async #end(): Promise<void> {
    this.#ended = true;
    await this.#process?.stop();
    rmSync(this.#answerFile, { force: true });
  }

  #writeSchema({ schema }: AgentRequest): void {
    mkdirSync(path.dirname(this.#answerFile), { recursive: true, mode: 0o700 });
    writeFileSync(this.#answerFile, JSON.stringify(answerParameters(schema)), { mode: 0o600 });
  }

  #masked(answer: AgentAnswer): AgentAnswer {
    if (answer.state === "answered") return answer;
    const message = redactText(maskSecrets(answer.message, this.#services.secrets));
    return { ...answer, message };
  }
}
