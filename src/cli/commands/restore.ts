import { printable } from "../../model/text.ts";
import { restore } from "../../server/backup.ts";
import { confirm } from "../confirm.ts";
import type { Documents } from "../schemas/documents.ts";
import { instant } from "../time.ts";
import type { Action } from "../verb.ts";
import { contents } from "./backup.ts";

type Options = { yes?: boolean };

export const run: Action<Options> = async (cli, { yes = false }, file) => {
  await confirm(cli, `Replace the store of ${cli.home}`, yes);
  const restored = await restore(cli.home, file);
  cli.output.result(restored satisfies Documents["restore"], () =>
    [
      `restored the store of ${instant(restored.takenAt)}: ${contents(restored)}`,
      ...(restored.kept === undefined ? [] : [`the one before is ${printable(restored.kept)}`]),
    ].join("\n"),
  );
  cli.output.note(
    "Effects are observed before they are made again; runs ask about what nobody can observe.",
  );
};
