import type { Clock } from "../../../../src/model/ports.ts";
import type { RunNotice, RunOutcome, RunPass } from "../../../../src/runner/run-port.ts";
import { executeRun, type RunExecution } from "../../../../src/runner/run/execute-run.ts";
import { compile } from "../../../../src/workflows/compile.ts";
import type { Workflow } from "../../../../src/workflows/define.ts";
import { clock } from "../../support/pool.ts";
import { MemoryRunHost } from "./host.ts";

export type Started = {
  host: MemoryRunHost;
  outcome: Promise<RunOutcome>;
  notify: (notice: RunNotice) => void;
  abort: (fault: string) => void;
};

/** Begins one pass of `definition`. */
export function start(
  definition: unknown,
  {
    host = new MemoryRunHost(),
    input = {},
    pass,
    time = clock,
    ...rest
  }: {
    host?: MemoryRunHost;
    input?: RunPass["input"];
    pass?: Partial<RunPass>;
    time?: Clock;
  } & Partial<Pick<RunExecution, "onStray" | "onWatch">> = {},
): Started {
  let notify: (notice: RunNotice) => void = () => {};
  const controller = new AbortController();
  const outcome = executeRun({
    workflow: compile(definition as Workflow),
    pass: host.pass(input, pass),
    host,
    control: { signal: controller.signal, onNotice: (listen) => (notify = listen) },
    clock: time,
    ...rest,
  });
  return {
    host,
    outcome,
    notify: (notice) => notify(notice),
    abort: (fault) => controller.abort(fault),
  };
}

/** Runs one pass to its end. */
export async function run(
  definition: unknown,
  options: Parameters<typeof start>[1] = {},
): Promise<{ host: MemoryRunHost; outcome: RunOutcome }> {
  const { host, outcome } = start(definition, options);
  return { host, outcome: await outcome };
}

/** A gate that a node waits at, so that a test decides when it goes on. */
export function gate(): { opened: Promise<void>; open: () => void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}
