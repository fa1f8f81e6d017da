import { PiWorkflowsError } from "../../model/errors.ts";
import { LIMITS } from "../../model/limits.ts";
import type { Documents } from "../schemas/documents.ts";
import { sleep } from "../sleep.ts";
import type { Action } from "../verb.ts";

// Draining, aborting and killing are each bounded; a little is left for closing the database.
const STOP_MS = LIMITS.drainMs + LIMITS.killGraceMs + 10_000;
const LOOK_MS = 25;

export const run: Action<object> = async (cli) => {
  const client = await cli.client({ start: false, anyVersion: true });
  if (client === undefined) {
    return cli.output.result(
      { stopped: false } satisfies Documents["server-stop"],
      () => "no server runs",
    );
  }
  const { pid } = await client.hello();
  cli.output.note(`stopping pid ${pid}; passes under way may finish`);
  await client.stop();
  await client.close();
  const deadline = Date.now() + STOP_MS;
  while (isAlive(pid) && !cli.signal.aborted) {
    if (Date.now() > deadline) {
      throw new PiWorkflowsError("SERVER_STOPPING", `pid ${pid} has not exited yet`, {
        hint: "See `pi-workflows server logs`.",
      });
    }
    await sleep(LOOK_MS, cli.signal);
  }
  cli.output.result({ stopped: true, pid } satisfies Documents["server-stop"], () => "stopped");
};

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
