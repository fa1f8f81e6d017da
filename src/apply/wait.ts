import { PiWorkflowsError } from "../model/errors.ts";
import type { Clock } from "../model/ports.ts";
import type { ResourceSummary } from "../model/resource.ts";
import { Waiting } from "./waiting.ts";
import type { WaitGoal, WaitOutcome, WaitTarget } from "./waiting.ts";

/** Resources as they change, first all that there are, then `listed`; a server's watch is one. */
export type ResourceChange =
  | { kind: "present" | "removed"; resource: ResourceSummary }
  | { kind: "listed" };

export type WaitOptions = { timeoutMs: number; clock: Pick<Clock, "schedule"> };

/**
 * Waits until all targets have reached the goal or are stalled. A condition counts only where it was
 * computed from the generation that the resource has now, no older than the target's (G-10).
 * The caller ends `changes` afterwards, by the signal that it made it with.
 * @throws WAIT_TIMEOUT naming what is left and why; NOT_FOUND where a resource that should reach a
 * condition is not there; SERVER_UNREACHABLE when `changes` ends early.
 */
export async function waitFor(
  targets: readonly WaitTarget[],
  goal: WaitGoal,
  changes: AsyncIterable<ResourceChange>,
  { timeoutMs, clock }: WaitOptions,
): Promise<WaitOutcome[]> {
  const waiting = new Waiting(targets, goal);
  const iterator = changes[Symbol.asyncIterator]();
  let cancel = (): void => undefined;
  const timeout = new Promise<"timeout">((resolve) => {
    cancel = clock.schedule(() => resolve("timeout"), timeoutMs);
  });
  try {
    while (!waiting.isOver()) {
      const next = await Promise.race([iterator.next(), timeout]);
      if (next === "timeout") throw waiting.timedOut(timeoutMs);
      if (next.done === true) throw endedEarly();
      take(waiting, next.value);
    }
    return waiting.outcomes();
  } finally {
    cancel();
    // Not awaited: a quiet stream answers only once its caller aborts it.
    iterator.return?.().catch(() => undefined);
  }
}

function take(waiting: Waiting, change: ResourceChange): void {
  switch (change.kind) {
    case "present":
      return waiting.seePresent(change.resource);
    case "removed":
      return waiting.seeRemoved(change.resource);
    case "listed":
      return waiting.seeListed();
  }
}

function endedEarly(): PiWorkflowsError {
  return new PiWorkflowsError(
    "SERVER_UNREACHABLE",
    "the server ended the watch before the wait was over",
  );
}
