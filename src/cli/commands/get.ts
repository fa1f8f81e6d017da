import type { ResourceSummary } from "../../model/resource.ts";
import { printable } from "../../model/text.ts";
import type { ListQuery, StoreReader } from "../../store/store.ts";
import { findResource, listAll } from "../find.ts";
import type { Cli } from "../invocation.ts";
import { summaryOf } from "../readiness.ts";
import { resourceTable } from "../resource-table.ts";
import type { Documents } from "../schemas/documents.ts";
import type { Action } from "../verb.ts";

type Options = {
  label?: Record<string, string>;
  notReady?: boolean;
  allProjects?: boolean;
  watch?: boolean;
  showSecrets?: boolean;
};

export const run: Action<Options> = async (cli, options, manager, key) => {
  const query = queryOf(cli, options, manager);
  if (options.watch) {
    const { watchResources } = await import("../watch.ts");
    return watchResources(cli, query, key);
  }
  const reader = await cli.reader();
  if (manager !== undefined && key !== undefined) {
    const ref = { project: cli.project, resourceManager: manager, key };
    const stored = await findResource(reader, ref);
    if (cli.output.format === "json") {
      const { presentable } = await import("../secrets.ts");
      const shown = await presentable(reader, stored, options.showSecrets === true);
      return cli.output.result(shown satisfies Documents["get"], () => "");
    }
    return printItems(cli, options, [summaryOf(stored)]);
  }
  const items = await listAll(reader, query);
  printItems(cli, options, items);
  if (items.length === 0 && manager !== undefined) await noteManagers(cli, reader, manager);
};

function queryOf(cli: Cli, options: Options, manager: string | undefined): ListQuery {
  return {
    ...(options.allProjects ? {} : { project: cli.project }),
    ...(manager === undefined ? {} : { manager }),
    ...(options.label ? { labels: options.label } : {}),
    ...(options.notReady ? { notReady: true } : {}),
  };
}

function printItems(cli: Cli, options: Options, items: ResourceSummary[]): void {
  const { output } = cli;
  if (items.length === 0) output.note(nothing(cli, options));
  output.result({ items } satisfies Documents["get"], () => {
    if (items.length === 0) return "";
    if (output.format === "name") {
      return items.map(({ metadata }) => `${metadata.resourceManager}/${metadata.key}`).join("\n");
    }
    return resourceTable(items, {
      wide: output.format === "wide",
      projects: options.allProjects === true,
      colors: output.colors,
      now: Date.now(),
    });
  });
}

/** Nothing was found under a name that may be mistyped: says which there are. */
async function noteManagers(cli: Cli, reader: StoreReader, manager: string): Promise<void> {
  const names = (await reader.managers(cli.project)).map(({ name }) => name);
  if (names.length === 0 || names.includes(manager)) return;
  cli.output.note(
    `No resource manager is named ${printable(manager)}; there is ${names.join(", ")}.`,
  );
}

function nothing(cli: Cli, options: Options): string {
  if (options.notReady) return "Nothing is unready.";
  return options.allProjects
    ? "There are no resources."
    : `There are no resources in ${cli.project}.`;
}
