import { VERBS } from "../../src/cli/verbs.ts";
import type { Verb } from "../../src/cli/verb.ts";

/** What is there to be named in a call. */
export type Named = { manager: string; key: string; workflow: string; run: string; backup: string };

/** One verb without verbs of its own. */
export type Leaf = {
  /** As it is typed: `run show`. */
  name: string;
  takesArguments: boolean;
  /** All that `-o` may be, the first of them where nothing is said. */
  formats: readonly string[];
  /** The flag by which it goes on printing. */
  follow: string | undefined;
};

/** Every verb of the table, so that a new one is tried without a word here. */
export const LEAVES: readonly Leaf[] = leavesOf({ name: "", summary: "", verbs: [...VERBS] }, []);

function leavesOf(verb: Verb, words: string[]): Leaf[] {
  if (verb.verbs) {
    return verb.verbs.flatMap((child) => leavesOf(child, [...words, child.name]));
  }
  const flags = verb.flags ?? [];
  const output = flags.find((flag) => flag.flags.startsWith("-o"));
  const follow = flags.find((flag) => /--watch|--follow/.test(flag.flags));
  return [
    {
      name: words.join(" "),
      takesArguments: (verb.arguments ?? []).length > 0,
      formats: output?.choices ?? [],
      follow: follow?.flags.split(",")[0],
    },
  ];
}

/**
 * How a verb is called so that it says much. Those that are not here are called without an argument,
 * or with names alone.
 */
const CALLS: Readonly<Record<string, (named: Named) => string[]>> = {
  init: () => ["init"],
  diff: () => ["diff", "-f", "specs", "--no-exit-code"],
  apply: () => ["apply", "-f", "specs"],
  "sync confirm-prune": () => ["sync", "confirm-prune", "0123456789ab"],
  wait: ({ manager, key }) => ["wait", manager, key, "--for", "condition=Ready=false"],
  "effect resolve": ({ manager, key }) => ["effect", "resolve", manager, key, "k", "--applied"],
  history: ({ manager, key }) => ["history", manager, key, "--diff"],
  "workflow graph": ({ workflow }) => ["workflow", "graph", workflow],
  "workflow validate": () => ["workflow", "validate"],
  "run start": ({ workflow }) => ["run", "start", workflow, "--input", "{}"],
  "run show": ({ run }) => ["run", "show", run, "--inputs", "--outputs"],
  "run answer": ({ run }) => ["run", "answer", run, "yes"],
  "run resolve": ({ run }) => ["run", "resolve", run, "--retry"],
  delete: ({ manager, key }) => ["delete", manager, `${key}-none`, "--yes"],
  backup: ({ backup }) => ["backup", backup],
  restore: ({ backup }) => ["restore", `${backup}-none`, "--yes"],
  completion: () => ["completion", "bash"],
  __complete: ({ manager }) => ["__complete", "--", "effect", "resolve", manager, ""],
  get: () => ["get"],
  events: () => ["events"],
  effects: () => ["effects"],
};

/** Verbs that end what the others look at, or that do not end; tried on their own. */
export const APART: readonly string[] = ["server run", "server stop"];

/** The words of a call of a verb. */
export function callOf({ name, takesArguments }: Leaf, named: Named): string[] {
  const call = CALLS[name];
  if (call !== undefined) return call(named);
  const words = name.split(" ");
  if (!takesArguments) return words;
  return words[0] === "run" ? [...words, named.run] : [...words, named.manager, named.key];
}
