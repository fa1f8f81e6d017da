import type { Cli } from "./invocation.ts";

/** One verb of the command line as data: help, documentation and completion are made from it. */
export type Verb = {
  name: string;
  /** One line, for the list of commands. */
  summary: string;
  /** What it does, for its own help; the summary where it has nothing to add. */
  description?: string;
  /** The heading under which the list of commands shows it. */
  group?: string;
  hidden?: boolean;
  arguments?: Argument[];
  flags?: Flag[];
  examples?: Example[];
  /** Exit codes that its users act on, besides 0 and 2. */
  exitCodes?: Record<number, string>;
  verbs?: Verb[];
  /** The module of its action, loaded only when it runs: the start of the others stays short. */
  load?: () => Promise<{ run: Action }>;
};

/** `usage` is `<required>`, `[optional]` or `[rest...]`. */
export type Argument = {
  usage: string;
  description: string;
  complete?: Completion;
  /** All that it may be. */
  choices?: readonly string[];
};

/** What the shell may offer at a place. */
export type Completion = "manager" | "key" | "effect" | "workflow" | "run" | "file" | "directory";

export type Flag = {
  /** As commander takes it: `-f, --file <path...>`. */
  flags: string;
  description: string;
  /** The heading under which the help shows it. */
  group?: string;
  choices?: readonly string[];
  /** Turns the text into the option's value. @throws PiWorkflowsError USAGE */
  parse?: (text: string, previous: unknown) => unknown;
  complete?: Completion;
  hidden?: boolean;
};

export type Example = { command: string; does: string };

export type Options = Record<string, unknown>;

/**
 * What a verb does. It returns the exit code where that is not 0, writes through `cli.output`, and
 * throws PiWorkflowsError; `main` alone prints errors and ends the process.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- each action names the options it declared
export type Action<T = any> = (cli: Cli, options: T, ...args: string[]) => Promise<number | void>;
