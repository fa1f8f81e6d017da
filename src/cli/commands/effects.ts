import { printable } from "../../model/text.ts";
import { table } from "../columns.ts";
import { findResource } from "../find.ts";
import { presentableEffects } from "../secrets.ts";
import type { Documents } from "../schemas/documents.ts";
import { effectRow } from "../tables.ts";
import type { Action } from "../verb.ts";

type Options = { open?: boolean; allProjects?: boolean };

const HEADING = ["RESOURCE", "EFFECT", "KIND", "STATE", "CALLS", "REF", "STARTED", "REASON"];

export const run: Action<Options> = async (cli, options, manager, key) => {
  const reader = await cli.reader();
  const open = options.open ? { open: true } : {};
  const scope =
    manager !== undefined && key !== undefined
      ? {
          uid: (await findResource(reader, { project: cli.project, resourceManager: manager, key }))
            .resource.metadata.uid,
        }
      : options.allProjects
        ? {}
        : { project: cli.project };
  const all = await reader.effects({ ...scope, ...open });
  const effects = await presentableEffects(
    reader,
    all.filter((effect) => manager === undefined || effect.resourceManager === manager),
  );
  const { output } = cli;
  if (effects.length === 0)
    output.note(options.open ? "No effect is open." : "There are no effects.");
  output.result({ effects } satisfies Documents["effects"], () => {
    if (effects.length === 0) return "";
    const paint = { colors: output.colors, now: Date.now() };
    const rows = effects.map((effect) => [
      printable(`${effect.resourceManager}/${effect.resourceKey}`),
      ...effectRow(effect, paint),
    ]);
    return table(HEADING, rows, output.colors.bold);
  });
};
