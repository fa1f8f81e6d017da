import { describeRef } from "../../model/resource.ts";
import { printable } from "../../model/text.ts";
import { findResource, listAll } from "../find.ts";
import { PiWorkflowsError } from "../../model/errors.ts";
import type { Documents } from "../schemas/documents.ts";
import type { Action } from "../verb.ts";

export const run: Action<object> = async (cli, _options, ...args) => {
  const [manager, key] = args as [string, string | undefined];
  const reader = await cli.reader();
  const scope = { project: cli.project, resourceManager: manager };
  if (key !== undefined) await findResource(reader, { ...scope, key });
  else if ((await listAll(reader, { project: cli.project, manager })).length === 0) {
    throw new PiWorkflowsError("NOT_FOUND", `${manager} has no resources in ${cli.project}`);
  }
  const client = await cli.client();
  const enqueued = await client.reconcile(key === undefined ? scope : { ...scope, key });
  cli.output.result({ enqueued } satisfies Documents["reconcile"], () =>
    key === undefined
      ? `${enqueued} ${enqueued === 1 ? "resource" : "resources"} of ${manager} will be looked at now`
      : printable(`${describeRef({ resourceManager: manager, key })} will be looked at now`),
  );
};
