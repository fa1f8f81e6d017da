import type { PiRecord, PiResponse } from "./wire.ts";

/** Watches for the end of all that follows one prompt. */
export type Settling = {
  take(record: PiRecord): void;
  readonly settled: Promise<void>;
};

/** A Pi that says it itself. A settle before the start belongs to what was before the prompt. */
export function awaitSettled(): Settling {
  let settle!: () => void;
  let started = false;
  const settled = new Promise<void>((resolve) => (settle = resolve));
  return {
    settled,
    take({ type }) {
      if (type === "agent_start") started = true;
      if (type === "agent_settled" && started) settle();
    },
  };
}

/**
 * An older Pi says only that its agent ended, and may then try again or shorten the conversation and
 * go on. It tells of that at once, so that an answer to a question asked after the end comes later;
 * `ask` asks for its state.
 */
export function awaitQuiet(ask: () => Promise<PiResponse | undefined>): Settling {
  let settle!: () => void;
  const settled = new Promise<void>((resolve) => (settle = resolve));
  /** What is under way: a run, a wait before another try, a compaction, a run to follow it. */
  const underWay = new Set<string>(["start"]);
  const look = async (): Promise<void> => {
    while (underWay.size === 0) {
      const state = await ask();
      if (underWay.size > 0) return;
      // Without a state Pi has ended, which others see.
      if (state?.isBusy !== true) return settle();
    }
  };
  return {
    settled,
    take({ type, willRetry }) {
      switch (type) {
        case "agent_start":
          underWay.clear();
          underWay.add("run");
          return;
        case "agent_end":
          underWay.delete("run");
          if (willRetry === true) underWay.add("retry");
          break;
        case "auto_retry_start":
          underWay.add("retry");
          return;
        case "auto_retry_end":
          underWay.delete("retry");
          break;
        case "compaction_start":
          underWay.add("compaction");
          return;
        case "compaction_end":
          underWay.delete("compaction");
          if (willRetry === true) underWay.add("run");
          break;
        default:
          return;
      }
      void look();
    },
  };
}
