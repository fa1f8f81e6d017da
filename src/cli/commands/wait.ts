import { findResource } from "../find.ts";
import { parseGoal } from "../goal.ts";
import type { Documents } from "../schemas/documents.ts";
import { DEFAULT_WAIT_MS, describeOutcomes, waitOn } from "../waiting.ts";
import type { Action } from "../verb.ts";

type Options = { for?: string; timeout?: number };

export const run: Action<Options> = async (cli, options, ...args) => {
  const [manager, key] = args as [string, string];
  const goal = parseGoal(options.for ?? "ready");
  const ref = { project: cli.project, resourceManager: manager, key };
  if (goal !== "deleted") await findResource(await cli.reader(), ref);
  const outcomes = await waitOn(cli, await cli.client(), {
    targets: [{ resourceManager: manager, key }],
    goal,
    timeoutMs: options.timeout ?? DEFAULT_WAIT_MS,
  });
  cli.output.result({ outcomes } satisfies Documents["wait"], () =>
    describeOutcomes(outcomes, goal),
  );
  return outcomes.every(({ state }) => state === "met") ? 0 : 1;
};
