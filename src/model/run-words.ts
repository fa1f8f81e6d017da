import type { RunReason, RunState } from "./run.ts";

/** What a state or reason means, and what a person can do about it; `docs/states.md` is made of it. */
export type Words = { means: string; next: string };

/** Every state of a run in words. */
export const RUN_STATE_WORDS: Readonly<Record<RunState, Words>> = {
  pending: {
    means: "It was asked for and has not begun.",
    next: "Nothing: it begins when a runner is free and a server runs.",
  },
  running: {
    means: "It has begun and goes on as long as a server runs.",
    next: "Nothing. `run wait ID` waits for its end, `run logs ID -f` shows what it says.",
  },
  waiting: { means: "It waits for a person; nothing of it runs.", next: "See its reason." },
  succeeded: { means: "It came to one of its exits. Final.", next: "Nothing." },
  failed: { means: "It ended without a result. Final.", next: "See its reason." },
  interrupted: {
    means: "It can't go on safely without a person; nothing of it runs.",
    next: "See its reason.",
  },
};

/** Every reason in words. `ID` stands for the run's. */
export const RUN_REASON_WORDS: Readonly<Record<RunReason, Words>> = {
  Checkpoint: {
    means: "A checkpoint asks a question.",
    next: "`run answer ID ANSWER`; `run show ID` shows the question and what may be answered.",
  },
  Paused: { means: "A person paused it.", next: "`run resume ID`." },
  Ambiguous: {
    means:
      "A node that must not be done twice was cut short, so that nobody knows whether it was done.",
    next:
      "Look for yourself, then `run resolve ID` with `--succeeded`, `--failed MESSAGE`, or `--retry` " +
      "to do it again.",
  },
  DefinitionChanged: {
    means: "Its workflow has changed since it began; a run never changes its code.",
    next:
      "`run resume ID` goes on with the code that it began with; or `run cancel ID`, then " +
      "`run retry ID` for a new attempt with today's code.",
  },
  Stalled: {
    means: "Its runner ended again and again without getting any further.",
    next: "See why with `run logs ID` and `server logs`, then `run resume ID`.",
  },
  NodeFailed: {
    means: "A node failed, its attempts are used up, and no edge leads on from a failure.",
    next: "Mend what its message says, then `run retry ID`.",
  },
  DeadlineExceeded: {
    means: "It had not ended within its deadline.",
    next: "`run retry ID`, with a longer `deadline` in the workflow where it needs one.",
  },
  Cancelled: {
    means: "A person or its parent called it off, and what can be undone was undone.",
    next: "`run retry ID` begins anew.",
  },
  InvalidInput: {
    means: "Its input is not what the workflow takes.",
    next: "`run start NAME --input JSON` with another input.",
  },
  InvalidOutput: {
    means: "What a node or the workflow handed over is not of its schema.",
    next: "Mend the workflow, then `run retry ID`.",
  },
};
