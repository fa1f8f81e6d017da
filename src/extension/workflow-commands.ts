import { PiWorkflowsError } from "../model/errors.ts";
import { hasEnded, type RunQuestion, type RunSummary, type StoredRun } from "../model/run.ts";
import { age } from "../model/span.ts";
import { printable } from "../model/text.ts";
import { documentOf, textOf } from "./child.ts";
import { helpOf, type Call } from "./grammar.ts";
import { answerByDialog } from "./questioner.ts";
import type { Scene } from "./resource-commands.ts";
import type { Session } from "./session.ts";
import { WORKFLOW } from "./verbs.ts";
import { textView, type Tone, type View } from "./view.ts";

type Handler = (call: Call, scene: Scene) => Promise<void>;

/** Carries out what was typed after `/workflow`. @throws PiWorkflowsError */
export async function workflowCommand(call: Call, scene: Scene): Promise<void> {
  const handler = HANDLERS[call.verb];
  if (handler) await handler(call, scene);
  else scene.output.show(textView(helpOf(WORKFLOW)));
}

/** What the command line prints, shown as it is. */
const printed =
  (...args: readonly string[]): Handler =>
  async ({ operands }, { session, output }) =>
    output.show(textView(textOf(await session.run([...args, "--", ...operands]))));

/** One line of what the command line did. */
const noted =
  (...args: readonly string[]): Handler =>
  async ({ operands }, { session, output }) =>
    output.note(textOf(await session.run([...args, "--", ...operands])));

const start: Handler = async ({ operands: [name = "", input] }, { session, output }) => {
  const run = await startRun(session, name, input);
  output.note(`${printable(name)} ${run.runId} started. See it with /workflow show ${run.runId}`);
};

/**
 * Starts a run of today's definition, whose questions are this session's to ask.
 * @throws PiWorkflowsError
 */
export async function startRun(
  session: Session,
  name: string,
  input: string | undefined,
  signal?: AbortSignal,
): Promise<StoredRun> {
  const args = ["run", "start", "--session", session.id, "-o", "json"];
  const given = input === undefined ? [] : ["--input", "-"];
  const said = await session.run([...args, ...given, "--", name], {
    signal,
    ...(input === undefined ? {} : { input }),
  });
  return (documentOf(said) as { run: StoredRun }).run;
}

const runs: Handler = async ({ operands: [workflow], flags }, { session, output }) => {
  output.show(await runsView(session, { workflow, open: flags["open"] === true }));
};

const MOST_RUNS = 100;

/** Runs of the session's project as a table, newest first. */
export async function runsView(
  session: Session,
  { workflow, open }: { workflow?: string | undefined; open: boolean },
): Promise<View> {
  const { link, project } = session;
  const query = {
    project,
    limit: MOST_RUNS,
    ...(workflow === undefined ? {} : { workflow }),
    ...(open ? { open: true } : {}),
  };
  const { items, next } = await link.ask((client) => client.runs(query), true);
  if (items.length === 0) return textView("There are no runs. /workflow start NAME starts one.");
  const now = Date.now();
  const more = next === undefined ? "" : `The newest ${items.length} of more.`;
  return {
    table: {
      columns: [
        { title: "RUN", least: 8 },
        { title: "WORKFLOW", least: 10 },
        { title: "STATE" },
        { title: "NODE", least: 10, drop: 2 },
        { title: "AGE", drop: 1 },
        { title: "MESSAGE", least: 20, drop: 3 },
      ],
      rows: items.map((run) => [
        run.runId,
        printable(run.workflow),
        { text: run.reason ? `${run.state} (${run.reason})` : run.state, tone: toneOf(run) },
        printable(hasEnded(run) ? "" : (run.node ?? "")),
        age(now - run.createdAt),
        printable(run.message ?? ""),
      ]),
    },
    ...(more ? { text: more } : {}),
  };
}

function toneOf({ state }: RunSummary): Tone {
  if (state === "succeeded") return "good";
  if (state === "failed") return "bad";
  return state === "waiting" || state === "interrupted" ? "warn" : "dim";
}

const answer: Handler = async ({ operands: [run = "", value], flags }, scene) => {
  const { session, ctx, output } = scene;
  const node = typeof flags["node"] === "string" ? ["--node", flags["node"]] : [];
  if (value !== undefined) {
    return output.note(await giveAnswer(session, { run, node: node[1], value }));
  }
  const question = await openQuestion(session, run, node[1]);
  if (!ctx.hasUI) {
    throw new PiWorkflowsError("USAGE", `${question.node} asks: ${question.message}`, {
      hint: `Answer with /workflow answer ${run} VALUE; VALUE is JSON, or yes, no or text.`,
    });
  }
  const { ui } = ctx;
  await answerByDialog({ session, ui, question, signal: session.link.closed });
};

/** Answers a run's question as the command line understands it: a word, a text or JSON. */
export async function giveAnswer(
  session: Session,
  { run, node, value }: { run: string; node: string | undefined; value: string },
): Promise<string> {
  const named = node === undefined ? [] : ["--node", node];
  // Words stand for answers only as arguments; there, `@` and `-` are no text.
  const typed = /^[@-]/.test(value) ? { word: "-", input: value } : { word: value, input: "" };
  const said = await session.run(["run", "answer", ...named, "--", run, typed.word], typed);
  return textOf(said);
}

/** The question that a run asks. @throws PiWorkflowsError NOT_FOUND where it asks none, USAGE */
export async function openQuestion(
  session: Session,
  run: string,
  node: string | undefined,
): Promise<RunQuestion> {
  const said = await session.run(["run", "show", "-o", "json", "--", run]);
  const { questions } = documentOf(said) as { questions: RunQuestion[] };
  const asked = questions.filter((question) => node === undefined || question.node === node);
  const [question] = asked;
  if (!question) {
    throw new PiWorkflowsError("NOT_FOUND", `run ${run} asks nothing`, {
      hint: `See it with /workflow show ${run}.`,
    });
  }
  if (asked.length === 1) return question;
  throw new PiWorkflowsError("USAGE", `run ${run} asks several questions`, {
    hint: `Name one with --node: ${asked.map((one) => one.node).join(", ")}.`,
  });
}

const cancel: Handler = async (call, scene) => {
  const [run = ""] = call.operands;
  const { session, ctx, output } = scene;
  if (call.flags["yes"] !== true && ctx.hasUI) {
    const about = "What it did is undone where its nodes say how.";
    const signal = session.link.closed;
    const sure = await ctx.ui.confirm(`Cancel run ${printable(run)}?`, about, { signal });
    if (!sure) return output.note("It goes on.");
  }
  output.note(textOf(await session.run(["run", "cancel", "--", run])));
};

const HANDLERS: Readonly<Record<string, Handler>> = {
  list: printed("workflows"),
  start,
  runs,
  show: printed("run", "show"),
  answer,
  pause: noted("run", "pause"),
  resume: noted("run", "resume"),
  cancel,
};
