import { LIMITS } from "../model/limits.ts";
import type { PassOutcome } from "../model/pass.ts";
import type { AttemptWatch } from "./attempt-watch.ts";
import type { MapHost, MapOutcome, MapRequest, PassHost, PassRequest } from "./port.ts";
import type { ToRunner } from "./protocol.ts";
import type { RunHost, RunOutcome, RunPass } from "./run-port.ts";

/** What a runner may be asked to do, one at a time. */
export type Task =
  | { type: "run"; request: PassRequest; host: PassHost }
  | { type: "execute"; request: RunPass; host: RunHost; watch: AttemptWatch }
  | { type: "map"; request: MapRequest; host: MapHost };

/** How a runner ended a task, and what that says about using it again. */
export type Ending<T = PassOutcome | MapOutcome | RunOutcome> = {
  outcome: T;
  rss: number;
  retire: boolean;
};

/** The message that answers a task. */
export const ANSWER_TO = { result: "run", executed: "execute", mapped: "map" } as const;

/** The message that begins a task. */
export function startOf(task: Task, pass: number): ToRunner {
  switch (task.type) {
    case "run":
      return { type: "run", pass, request: task.request };
    case "execute":
      return { type: "execute", pass, request: task.request };
    case "map": {
      const { source, input } = task.request;
      return { type: "map", pass, request: { source, input } };
    }
  }
}

/** How long a runner may take over a task before it is ended. Milliseconds. */
export function limitOf(task: Task): number {
  switch (task.type) {
    case "run":
      return task.request.manager.deadlineMs;
    // The engine ends the run itself at its deadline, which takes what is left.
    case "execute":
      return Math.max(0, task.request.remainingMs) + LIMITS.endRunMs;
    case "map":
      return task.request.deadlineMs;
  }
}
