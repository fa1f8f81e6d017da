import { z } from "zod";
import { LIMITS } from "../../../../src/model/limits.ts";
import type { Clock } from "../../../../src/model/ports.ts";
import { defineWorkflow, end, type WorkflowNode } from "../../../../src/workflows/index.ts";

/** A workflow of nodes one after the other, which ends with what the last one handed over. */
export function chain(nodes: Record<string, WorkflowNode<unknown, never>>, failure?: string) {
  const names = Object.keys(nodes);
  const last = Object.values(nodes).at(-1) as WorkflowNode<unknown, never>;
  const next = (index: number) => names[index + 1] ?? end("done");
  return defineWorkflow<z.ZodType, z.ZodType, never, never>({
    name: "probe",
    input: z.unknown(),
    output: z.unknown(),
    startAt: names[0],
    nodes,
    edges: Object.fromEntries(
      names.map((name, index) => [
        name,
        failure === undefined || name === failure ? next(index) : { next: next(index), failure },
      ]),
    ),
    exits: {
      done: ({ tryOutput }: { tryOutput: (node: unknown) => unknown }) => tryOutput(last) ?? null,
    },
  } as never);
}

/** A clock that only a test moves; timers are run in the order of their times. */
export function handClock(): Clock & { advance: (ms: number) => void; waiting: () => number } {
  let now = 1_000_000;
  const timers = new Map<() => void, number>();
  return {
    now: () => now,
    monotonic: () => now,
    schedule(callback, delayMs) {
      const timer = (): void => callback();
      // Longer ones fire at once, as Node's do; systemClock cuts them.
      timers.set(timer, now + (delayMs > LIMITS.maxTimerMs ? 1 : delayMs));
      return () => timers.delete(timer);
    },
    advance(ms) {
      const end = now + ms;
      for (;;) {
        const [due] = [...timers].filter(([, at]) => at <= end).sort(([, a], [, b]) => a - b);
        if (due === undefined) break;
        timers.delete(due[0]);
        now = Math.max(now, due[1]);
        due[0]();
      }
      now = end;
    },
    waiting: () => timers.size,
  };
}
