import { describeRef } from "../../model/resource.ts";
import { printable } from "../../model/text.ts";
import type { Documents } from "../schemas/documents.ts";
import { presentable } from "../secrets.ts";
import type { Action } from "../verb.ts";

export const run: Action<object> = async (cli, _options, ...args) => {
  const [manager, key] = args as [string, string];
  const client = await cli.client();
  const stored = await client.undelete({ project: cli.project, resourceManager: manager, key });
  const { metadata } = stored.resource;
  const shown = await presentable(await cli.reader(), stored, false);
  cli.output.result(shown satisfies Documents["undelete"], () =>
    [
      `${printable(describeRef(metadata))} is back as ${metadata.uid}`,
      'It is protected from being pruned; a spec file that says `"prune": true` lifts that.',
    ].join("\n"),
  );
};
