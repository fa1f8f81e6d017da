import { printable } from "../../model/text.ts";
import { backup, type BackupFacts } from "../../server/backup.ts";
import type { Documents } from "../schemas/documents.ts";
import type { Action } from "../verb.ts";

export const run: Action<object> = async (cli, _options, file) => {
  const made = await backup(cli.home, file);
  for (const digest of made.missing) {
    cli.output.note(
      `No code was found of the definition ${digest.slice(0, 12)}: apply it again, or what it manages can't run.`,
    );
  }
  cli.output.result(made satisfies Documents["backup"], () =>
    printable(`${made.file}: ${contents(made)}, ${kib(made.bytes)}`),
  );
};

/** What is in a backup. */
export function contents({ resources, openRuns, openEffects }: BackupFacts): string {
  return `${resources} resources, ${openRuns} open runs, ${openEffects} open effects`;
}

function kib(bytes: number): string {
  return `${Math.ceil(bytes / 1024)} KiB`;
}
