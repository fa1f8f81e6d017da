import type { PruneRecord } from "../../model/sync.ts";
import { printable } from "../../model/text.ts";
import type { Documents } from "../schemas/documents.ts";
import { itemLines } from "../sync-text.ts";
import { instant } from "../time.ts";
import type { Action } from "../verb.ts";

export const run: Action<object> = async (cli) => {
  const reader = await cli.reader();
  const prunes = await reader.prunes(cli.project);
  if (prunes.length === 0) cli.output.note("No sync of this project has deleted anything.");
  cli.output.result({ prunes } satisfies Documents["sync-prunes"], () =>
    prunes.map(describe).join("\n"),
  );
};

function describe({ at, revision, confirmedBy, items }: PruneRecord): string {
  const who = confirmedBy === undefined ? "" : `, confirmed by ${printable(confirmedBy)}`;
  return [`${instant(at)}  at ${revision.slice(0, 12)}${who}`, ...itemLines(items)].join("\n");
}
