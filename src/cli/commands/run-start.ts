import { randomUUID } from "node:crypto";
import type { Json } from "../../model/canonical.ts";
import type { WorkflowProposal } from "../../model/graph.ts";
import { printable } from "../../model/text.ts";
import { parseArgument, textOfArgument } from "../json-argument.ts";
import type { Cli } from "../invocation.ts";
import { exampleOf, quoted } from "../runs/answers.ts";
import { checkGiven } from "../runs/check.ts";
import { shortId } from "../runs/ids.ts";
import { presentableStored } from "../runs/secrets.ts";
import { waitForRun } from "../runs/waiting.ts";
import type { Documents } from "../schemas/documents.ts";
import type { Action } from "../verb.ts";
import { loadWorkflow } from "../workflows/load.ts";

type Options = {
  input?: string;
  wait?: boolean;
  timeout?: number;
  requestKey?: string;
  session?: string;
};

export const run: Action<Options> = async (cli, options, ...args) => {
  const [name] = args as [string];
  const wait = options.wait === true || options.timeout !== undefined;
  const input = await inputOf(cli, options.input);
  // The server starts while the workflow loads.
  const [workflow, client] = await Promise.all([loadWorkflow(cli, name), cli.client()]);
  await checkInput(workflow, input);
  await client.acceptWorkflows(cli.project, [workflow]);
  const started = await client.startRun({
    project: cli.project,
    workflow: name,
    input,
    requestKey: options.requestKey ?? randomUUID(),
    ...(options.session === undefined ? {} : { session: options.session }),
  });
  const id = shortId(started.runId);
  if (wait) {
    cli.output.note(`${printable(name)} ${id} started`);
    return waitForRun(cli, client, started, options.timeout);
  }
  const document = { run: await presentableStored(client, started), questions: [] };
  cli.output.result(document satisfies Documents["run-start"], () =>
    [
      `${printable(name)} ${id} ${started.epochs > 0 ? `is there already: ${started.state}` : "started"}`,
      `See it with \`pi-workflows run show ${id}\`, wait for it with \`pi-workflows run wait ${id}\`.`,
    ].join("\n"),
  );
};

async function inputOf(cli: Cli, given: string | undefined): Promise<Json> {
  if (given === undefined) return {};
  const argument = { what: "input", example: '{"url": "https://example.org"}' };
  return parseArgument(await textOfArgument(cli, given, argument), argument);
}

async function checkInput({ name, inputSchema }: WorkflowProposal, input: Json): Promise<void> {
  const example = quoted(JSON.stringify(exampleOf(inputSchema ?? {})));
  const hint = `Give it with --input, such as --input ${example}.`;
  await checkGiven({
    what: `the input of ${name}`,
    value: input,
    schema: inputSchema,
    root: "input",
    hint,
  });
}
