import { PiWorkflowsError } from "../../model/errors.ts";
import type { Action } from "../verb.ts";

export const run: Action<object> = async (cli) => {
  const client = await cli.client({ start: false });
  if (client === undefined) {
    throw new PiWorkflowsError("SERVER_UNREACHABLE", `no server runs for ${cli.home}`, {
      hint: "A server that does not run has no metrics; `pi-workflows server start` starts one.",
    });
  }
  cli.output.line((await client.metrics()).trimEnd());
};
