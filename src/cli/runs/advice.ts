import type { QueueEntry } from "../../model/queue.ts";
import { hasEnded, type RunQuestion, type RunReason, type RunSummary } from "../../model/run.ts";
import { age, relative } from "../time.ts";
import { answerExamples } from "./answers.ts";
import { shortId } from "./ids.ts";
import { thrownAt } from "./thrown-at.ts";
import type { NodeVisit } from "./visits.ts";

/** What is known of a run when somebody asks what to do about it. */
export type Situation = {
  run: RunSummary;
  questions: readonly RunQuestion[];
  nodes: readonly NodeVisit[];
  serverRuns: boolean;
  /** Present while something of it is to be done. */
  queue?: QueueEntry;
  now: number;
};

/** Examples of an answer that a sentence names. */
const EXAMPLES = 3;

/**
 * What a run waits for or came to, and what a person can do about it: sentences that go on from "it",
 * with commands as they can be pasted.
 */
export function adviceOn(situation: Situation): string[] {
  const { run, serverRuns } = situation;
  if (hasEnded(run)) return stateAdvice(situation);
  const isSpoken = isAnswered(situation);
  const moves = run.state === "pending" || run.state === "running" || run.cancelling || isSpoken;
  // Also what is being cancelled may come to where only a person can say how it goes on.
  const isStuck = run.state === "interrupted" && !isSpoken;
  return [
    ...(run.cancelling ? cancelling(situation) : isSpoken ? [SPOKEN] : []),
    ...((run.cancelling ? isStuck : !isSpoken) ? stateAdvice(situation) : []),
    ...(run.paused && run.reason !== "Paused" ? ADVICE.Paused(situation) : []),
    ...(moves && !serverRuns ? [NO_SERVER] : []),
  ];
}

const SPOKEN = "A person has spoken: it goes on when a runner is free.";

/** Whether what it waited for was said, and no runner has taken it up yet. */
function isAnswered({ run, queue, now }: Situation): boolean {
  const waits = run.state === "waiting" || run.state === "interrupted";
  return waits && queue !== undefined && (queue.claimed || queue.readyAt <= now);
}

const NO_SERVER = "No server is running, so nothing moves: `pi-workflows server start` starts it.";

function cancelling({ nodes }: Situation): string[] {
  const undoing = nodes.filter(({ undone }) => undone?.at(-1)?.state === "running");
  const what =
    undoing.length > 0 ? `: ${undoing.map(({ node }) => node).join(", ")} is being undone` : "";
  return [`It is being cancelled${what}.`];
}

function stateAdvice(situation: Situation): string[] {
  const { run, now } = situation;
  switch (run.state) {
    case "pending":
      return [triedAgain(situation) ?? "It has not begun: it waits for a free runner."];
    case "running":
      return [triedAgain(situation) ?? runningNodes(situation, now)];
    case "succeeded":
      return [];
    default:
      return run.reason === undefined ? [] : ADVICE[run.reason](situation);
  }
}

/** Of one whose runner ended without an answer: when the next one takes it up. */
function triedAgain({ run, queue, now }: Situation): string | undefined {
  if (!queue || queue.claimed || queue.readyAt <= now) return undefined;
  const failures = queue.attempts + queue.crashAttempts;
  if (failures === 0) return undefined;
  const times = failures === 1 ? "once" : `${failures} times in a row`;
  return (
    `Its runner failed ${times}; the next one takes it up ${relative(queue.readyAt, now)}. ` +
    `${command(run, "logs")} and \`pi-workflows events\` say why.`
  );
}

function runningNodes({ run, nodes, serverRuns }: Situation, now: number): string {
  const open = nodes.filter(({ state }) => state === "running");
  const [first] = open;
  if (!serverRuns) {
    return first === undefined ? "It has begun." : `It was at ${first.node} when its server ended.`;
  }
  if (run.claimedAt === undefined) return "It goes on when a runner is free.";
  if (first === undefined) return "A runner works on it.";
  const more = open.length > 1 ? ` and ${open.length - 1} more` : "";
  return `It runs ${first.node} for ${age(now - first.startedAt)} now${more}.`;
}

const ADVICE: Readonly<Record<RunReason, (situation: Situation) => string[]>> = {
  Checkpoint: ({ run, questions }) =>
    questions.length > 0
      ? questions.flatMap((question) => questionAdvice(run, question, questions.length > 1))
      : [`It waits for an answer at ${run.node ?? "a checkpoint"}: ${command(run, "show")}.`],
  Paused: ({ run }) => [`It is paused: ${command(run, "resume")} lets it go on.`],
  Ambiguous: ambiguous,
  DefinitionChanged: ({ run }) => [
    `Its workflow ${run.workflow} has changed since it began. ${command(run, "resume")} goes on with ` +
      `the code that it began with; or ${command(run, "cancel")}, then ${command(run, "retry")} for a ` +
      "new attempt with today's code.",
  ],
  Stalled: ({ run }) => [
    `Its runner ended again and again without getting any further${because(run)}. See ` +
      `${command(run, "logs")} and \`pi-workflows server logs\`, then ${command(run, "resume")}.`,
  ],
  NodeFailed: ({ run, nodes }) => [
    `${failedNode(run, nodes)} failed${because(run)}${thrownIn(run, nodes)}`,
    `${command(run, "logs", nodeFlag(run))} prints what it logged; ${command(run, "retry")} tries anew, ` +
      "from the beginning and with today's code.",
  ],
  DeadlineExceeded: ({ run, nodes }) => {
    const running = nodes.filter(({ state }) => state === "aborted").map(({ node }) => node);
    const during = running.length > 0 ? `; ${running.join(", ")} was stopped` : "";
    return [`It had not ended within its deadline${during}. ${command(run, "retry")} tries anew.`];
  },
  Cancelled: ({ run }) => [
    `It was ${run.message ?? "cancelled"}. ${command(run, "retry")} begins anew.`,
  ],
  InvalidInput: ({ run }) => [
    `Its input is not what the workflow takes${because(run)}. Start it with ` +
      `another: \`pi-workflows run start ${run.workflow} --input JSON\`.`,
  ],
  InvalidOutput: ({ run }) => [
    `It has no result${because(run)}`,
    `Mend the workflow, then ${command(run, "retry")}.`,
  ],
};

function failedNode(run: RunSummary, nodes: readonly NodeVisit[]): string {
  if (run.node === undefined) return "A node";
  const attempts = nodes.findLast(({ node }) => node === run.node)?.attempts.length ?? 1;
  return attempts > 1 ? `${run.node} (${attempts} attempts)` : run.node;
}

/** Where in its code it failed, which its message does not say. */
function thrownIn(run: RunSummary, nodes: readonly NodeVisit[]): string {
  const error = nodes.findLast(({ node }) => node === run.node)?.attempts.at(-1)?.error;
  const at = error && thrownAt(error, run.project);
  return at === undefined ? "" : ` (${at})`;
}

/** The message, without the node that it begins with and the sentence names already. */
function because({ node, message = "" }: RunSummary): string {
  const own = message.startsWith(`${node}: `) ? message.slice(`${node}: `.length) : message;
  return own ? `: ${own.replace(/\.$/, "")}` : "";
}

function nodeFlag({ node }: RunSummary): string {
  return node === undefined ? "" : ` --node ${node}`;
}

/** The question, and `pi-workflows run answer 1f2e3d4c yes`. */
function questionAdvice(run: RunSummary, question: RunQuestion, several: boolean): string[] {
  const node = several ? ` --node ${question.node}` : "";
  const examples = answerExamples(question.schema).slice(0, EXAMPLES);
  const [first = "ANSWER", ...others] = examples;
  const or = others.length > 0 ? `, or with ${others.join(" or ")}` : "";
  return [
    `${question.node} asks: ${question.message}`,
    `Answer with \`pi-workflows run answer ${shortId(run.runId)}${node} ${first}\`${or}.`,
  ];
}

function ambiguous({ run, nodes }: Situation): string[] {
  const open = nodes.filter(({ state, undone }) =>
    [state, undone?.at(-1)?.state].includes("ambiguous"),
  );
  const names = open.length > 0 ? open.map(({ node }) => node) : [run.node ?? "a node"];
  const visit = open.length > 1 ? ` --visit ${open[0]?.visit}` : "";
  const resolve = `\`pi-workflows run resolve ${shortId(run.runId)}${visit}`;
  const logs = command(run, "logs", names.length === 1 ? ` --node ${names[0]}` : "");
  return [
    `It can't be told whether ${names.join(", ")} was done: the runner ended in the middle of it.`,
    `Look for yourself (${logs} prints what it logged), then say so: ${resolve} --succeeded\`, or ` +
      "--failed MESSAGE, or --retry to do it again.",
  ];
}

function command({ runId }: RunSummary, verb: string, flags = ""): string {
  return `\`pi-workflows run ${verb} ${shortId(runId)}${flags}\``;
}
