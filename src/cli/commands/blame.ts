import { blame } from "../../diff/blame.ts";
import { printable } from "../../model/text.ts";
import type { GenerationRecord } from "../../store/store.ts";
import { table } from "../columns.ts";
import { findResource } from "../find.ts";
import { describeOrigin, describeOwner } from "../origin.ts";
import type { Colors } from "../output.ts";
import type { Documents } from "../schemas/documents.ts";
import { maskOf } from "../secrets.ts";
import { instant } from "../time.ts";
import type { Action } from "../verb.ts";

type Options = { showSecrets?: boolean };

export const run: Action<Options> = async (cli, options, ...args) => {
  const [manager, key] = args as [string, string];
  const ref = { project: cli.project, resourceManager: manager, key };
  const reader = await cli.reader();
  await findResource(reader, ref);
  const history = await reader.history(ref);
  const mask = options.showSecrets ? undefined : await maskOf(reader, ref);
  // Compared as they are, shown masked: a changed secret counts as changed.
  const shown = mask && history[0] ? new Map(leavesOf(mask(history[0].spec))) : undefined;
  const fields = blame(
    history.map(({ spec }) => spec),
    "spec",
  ).map(({ path, value, index }) => {
    const record = history[index] as GenerationRecord;
    const { generation, origin, at } = record;
    return { path, value: shown ? (shown.get(path) ?? "***") : value, generation, origin, at };
  });
  cli.output.result({ fields } satisfies Documents["blame"], () =>
    describe(fields, cli.output.colors),
  );
};

function leavesOf(spec: GenerationRecord["spec"]): [string, GenerationRecord["spec"]][] {
  return blame([spec], "spec").map(({ path, value }) => [path, value]);
}

type Row = Pick<GenerationRecord, "generation" | "origin" | "at"> & {
  path: string;
  value: unknown;
};

function describe(fields: readonly Row[], colors: Colors): string {
  const rows = fields.map(({ path, value, generation, origin, at }) => [
    printable(path),
    printable(JSON.stringify(value)),
    String(generation),
    printable(describeOrigin(origin)),
    printable(origin.author?.replace(/ <[^<>]*>$/, "") ?? describeOwner(origin)),
    instant(origin.committedAt ?? at),
  ]);
  const heading = ["FIELD", "VALUE", "GENERATION", "FROM", "BY", "AT"];
  return table(heading, rows, colors.bold);
}
