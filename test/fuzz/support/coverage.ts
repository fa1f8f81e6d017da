import { Session, type Profiler } from "node:inspector";

/** Which characters of scripts ran, by script: 1 for each that did. */
export type Ran = ReadonlyMap<string, Uint8Array>;

/** What of some scripts has run so far in this process, by V8's own count of blocks. */
export type Coverage = {
  /** What ran since the last call. */
  take(): Ran;
  /** Whether some of it had not run before. */
  isNew(ran: Ran): boolean;
  /** Remembers what ran. */
  learn(ran: Ran): void;
  /** Characters of code that are remembered. */
  reached(): number;
};

// From before anything else is loaded: what is compiled while nobody counts is counted as a whole,
// not by blocks, for as long as it lives.
const session = new Session();
session.connect();
session.post("Profiler.enable");
session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });

/** A fresh memory of what ran in the scripts whose URL is meant. */
export function openCoverage(isMeant: (url: string) => boolean): Coverage {
  const known = new Map<string, Uint8Array>();
  let reached = 0;
  return {
    take() {
      const ran = new Map<string, Uint8Array>();
      // The answer comes within the call.
      session.post("Profiler.takePreciseCoverage", (error, { result }) => {
        if (error) throw error;
        for (const { url, scriptId, functions } of result) {
          if (isMeant(url)) ran.set(scriptId, painted(functions));
        }
      });
      return ran;
    },
    isNew: (ran) => [...ran].some(([script, all]) => countNew(all, known.get(script) ?? NONE) > 0),
    learn(ran) {
      for (const [script, all] of ran) {
        const before = known.get(script) ?? NONE;
        reached += countNew(all, before);
        known.set(script, union(all, before));
      }
    },
    reached: () => reached,
  };
}

const NONE = new Uint8Array(0);

// Plain loops: they run over all code for every few inputs.
function countNew(ran: Uint8Array, before: Uint8Array): number {
  let count = 0;
  for (let at = 0; at < ran.length; at += 1) if (ran[at] === 1 && before[at] !== 1) count += 1;
  return count;
}

function union(ran: Uint8Array, before: Uint8Array): Uint8Array {
  const all = new Uint8Array(Math.max(ran.length, before.length));
  all.set(before);
  for (let at = 0; at < ran.length; at += 1) if (ran[at] === 1) all[at] = 1;
  return all;
}

/**
 * A block that ran as often as the one around it is not told of, so what is told of is laid over each
 * other, outermost first, as it comes.
 */
function painted(functions: readonly Profiler.FunctionCoverage[]): Uint8Array {
  const ranges = functions.flatMap((one) => one.ranges);
  const ran = new Uint8Array(ranges.reduce((end, { endOffset }) => Math.max(end, endOffset), 0));
  for (const { startOffset, endOffset, count } of ranges) {
    ran.fill(count > 0 ? 1 : 0, startOffset, endOffset);
  }
  return ran;
}
