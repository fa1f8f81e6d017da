import type { RunState, RunSummary } from "../../model/run.ts";
import { printable } from "../../model/text.ts";
import type { RunQuery } from "../../store/runs.ts";
import type { Cli } from "../invocation.ts";
import { everyRun } from "../runs/find.ts";
import { runTable } from "../runs/table.ts";
import type { Documents } from "../schemas/documents.ts";
import type { Action } from "../verb.ts";

type Options = {
  state?: RunState;
  workflow?: string;
  open?: boolean;
  all?: boolean;
  allProjects?: boolean;
  watch?: boolean;
};

/** How many of the newest are shown without `--all`. */
const SHOWN = 50;

export const run: Action<Options> = async (cli, options) => {
  const query = queryOf(cli, options);
  if (options.watch) {
    const { watchRuns } = await import("../runs/watch.ts");
    return watchRuns(cli, query, {
      projects: options.allProjects === true,
      all: options.all === true,
    });
  }
  const { runs, more } = await newest(cli, query, options.all === true ? undefined : SHOWN);
  const { output } = cli;
  if (runs.length === 0) output.note(nothing(cli, options));
  output.result({ runs } satisfies Documents["runs"], () =>
    runs.length === 0
      ? ""
      : runTable(runs, {
          wide: output.format === "wide",
          projects: options.allProjects === true,
          colors: output.colors,
          now: Date.now(),
        }),
  );
  if (more) output.note(`These are the newest ${SHOWN}; --all shows the others too.`);
};

function queryOf(cli: Cli, options: Options): RunQuery {
  return {
    ...(options.allProjects ? {} : { project: cli.project }),
    ...(options.workflow === undefined ? {} : { workflow: options.workflow }),
    ...(options.state === undefined ? {} : { state: options.state }),
    ...(options.open ? { open: true } : {}),
  };
}

async function newest(
  cli: Cli,
  query: RunQuery,
  limit: number | undefined,
): Promise<{ runs: RunSummary[]; more: boolean }> {
  const runs: RunSummary[] = [];
  for await (const found of everyRun(await cli.reader(), query)) {
    if (runs.length === limit) return { runs, more: true };
    runs.push(found);
  }
  return { runs, more: false };
}

function nothing(cli: Cli, { state, workflow, open, allProjects }: Options): string {
  const which = [
    ...(workflow === undefined ? [] : [` of ${printable(workflow)}`]),
    ...(state === undefined ? [] : [` in state ${state}`]),
    ...(open ? [" that have not ended"] : []),
  ].join("");
  const where = allProjects ? "" : ` in ${cli.project}`;
  return `There are no runs${which}${where}.`;
}
