import { describeRef } from "../model/resource.ts";
import { printable } from "../model/text.ts";
import { findResource } from "./find.ts";
import type { Cli } from "./invocation.ts";
import { summaryOf } from "./readiness.ts";
import type { Documents } from "./schemas/documents.ts";

/** Sets or lifts `suspended` of one resource and says so. */
export async function setSuspended(
  cli: Cli,
  target: { manager: string; key: string },
  suspended: boolean,
): Promise<void> {
  const ref = { project: cli.project, resourceManager: target.manager, key: target.key };
  const before = await findResource(await cli.reader(), ref);
  const client = await cli.client();
  const stored = await client.suspend(ref, suspended);
  const state = suspended ? "suspended" : "reconciled again";
  const already = before.suspended === suspended ? " already" : "";
  cli.output.result({ resource: summaryOf(stored) } satisfies Documents["suspend"], () =>
    printable(`${describeRef(ref)} is${already} ${state}`),
  );
}
