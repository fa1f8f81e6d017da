import type { Json } from "../../model/canonical.ts";
import { PiWorkflowsError } from "../../model/errors.ts";
import { hasEnded, type RunQuestion, type StoredRun } from "../../model/run.ts";
import { firstLine, printable, printableLines } from "../../model/text.ts";
import type { Client } from "../../server/protocol.ts";
import { ask } from "../confirm.ts";
import type { Cli } from "../invocation.ts";
import { parseArgument, textOfArgument } from "../json-argument.ts";
import { answerExamples, exampleOf, wordAnswer } from "../runs/answers.ts";
import { nameOf, printChanged } from "../runs/change.ts";
import { checkGiven } from "../runs/check.ts";
import { schemaOfNode, workflowOf } from "../runs/details.ts";
import { findRun } from "../runs/find.ts";
import { shortId } from "../runs/ids.ts";
import { presentableStored } from "../runs/secrets.ts";
import type { Action } from "../verb.ts";

/** Examples of an answer that errors and the terminal show. */
const EXAMPLES = 3;

/** What an answer is to: a question that is asked, or one that will be. */
type Asked = Pick<RunQuestion, "node" | "schema"> & { message?: string; visit?: number };

export const run: Action<{ node?: string }> = async (cli, options, ...args) => {
  const [typed, given] = args as [string, string | undefined];
  const found = await findRun(cli, typed);
  const client = await cli.client();
  const asked = await askedOf(client, found, options.node);
  const value = await answerOf(cli, found, asked, given);
  const { node, visit } = asked;
  // What was read is answered, and not the next question, where another person was faster.
  const question = visit === undefined ? { node } : { node, visit };
  const after = await client.answerRun({ runId: found.runId, ...question, value });
  printChanged(
    cli,
    await presentableStored(client, after),
    (shown) => `${nameOf(shown)}: ${asked.node} is answered with ${JSON.stringify(value)}`,
  );
};

/** @throws PiWorkflowsError NO_QUESTION */
async function askedOf(client: Client, found: StoredRun, node: string | undefined): Promise<Asked> {
  const open = await client.questions({ runId: found.runId });
  const named = node === undefined ? open : open.filter((question) => question.node === node);
  const [first] = named;
  if (first && (node !== undefined || named.length === 1)) return first;
  if (node === undefined) throw noQuestion(found, open);
  const workflow = await workflowOf(client, found);
  const schema = workflow?.digest === found.digest ? schemaOfNode(workflow, node) : undefined;
  return { node, ...(schema ? { schema } : {}) };
}

function noQuestion(found: StoredRun, open: readonly RunQuestion[]): PiWorkflowsError {
  const id = shortId(found.runId);
  if (open.length === 0) {
    const early = "With --node NODE a checkpoint is answered before it is reached.";
    const hint = `It ${hasEnded(found) ? "has" : "is"} ${found.state}: \`pi-workflows run show ${id}\`.`;
    return new PiWorkflowsError("NO_QUESTION", `${nameOf(found)} asks nothing now`, {
      hint: hasEnded(found) ? hint : `${hint} ${early}`,
    });
  }
  const questions = open.map(({ node, message }) => `--node ${node} (${firstLine(message)})`);
  return new PiWorkflowsError("NO_QUESTION", `${nameOf(found)} asks several questions`, {
    hint: `Say which: ${questions.join(", or ")}.`,
  });
}

async function answerOf(
  cli: Cli,
  found: StoredRun,
  asked: Asked,
  given: string | undefined,
): Promise<Json> {
  const { node, schema, message } = asked;
  const examples = answerExamples(schema).slice(0, EXAMPLES).join(" or ") || "JSON";
  const text = given ?? (await askOnTerminal(cli, asked, examples));
  const argument = { what: "answer", example: JSON.stringify(exampleOf(schema ?? {})) };
  const hint = `${message === undefined ? "" : `It asks: ${message} `}Answer with ${examples}.`;
  const word = wordAnswer(text, schema);
  const value = word ?? parsed(await textOfArgument(cli, text, argument), hint);
  await checkGiven({
    what: `the answer to ${node} of ${nameOf(found)}`,
    value,
    schema,
    root: "answer",
    hint,
  });
  return value;

  function parsed(json: string, advice: string): Json {
    try {
      return parseArgument(json, argument);
    } catch (thrown) {
      if (!(thrown instanceof PiWorkflowsError) || thrown.code !== "USAGE") throw thrown;
      // Who writes JSON is told what is wrong with it; of a word nobody need know that JSON was tried.
      if (/^\s*[{[]/.test(json)) {
        throw new PiWorkflowsError("USAGE", thrown.message, { hint: advice, cause: thrown });
      }
      const message = printable(`${JSON.stringify(json.trim())} is no answer to ${node}`);
      throw new PiWorkflowsError("USAGE", message, { hint: advice, cause: thrown });
    }
  }
}

/** @throws PiWorkflowsError USAGE where nobody can be asked */
async function askOnTerminal(cli: Cli, asked: Asked, examples: string): Promise<string> {
  const message = asked.message ?? asked.node;
  if (!cli.output.interactive || cli.output.format === "json") {
    throw new PiWorkflowsError("USAGE", "the answer is missing", {
      hint: `It asks: ${message} Answer with ${examples}.`,
    });
  }
  const question = printableLines(`${message}\n${examples}: `);
  return (await ask(question, cli.signal)).trim();
}
