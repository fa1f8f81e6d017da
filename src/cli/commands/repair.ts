import type { Documents } from "../schemas/documents.ts";
import type { Action } from "../verb.ts";

type Options = { dryRun?: boolean };

export const run: Action<Options> = async (cli, { dryRun = false }) => {
  const client = await cli.client();
  const { enqueued } = await client.repair({ dryRun });
  cli.output.result({ enqueued, dryRun } satisfies Documents["repair"], () => {
    if (enqueued === 0) return "every resource has its place in the queue";
    const what = `${enqueued} ${enqueued === 1 ? "resource" : "resources"}`;
    return dryRun ? `${what} would be enqueued` : `${what} enqueued`;
  });
};
