#!/usr/bin/env node
import { CommanderError, type Command } from "commander";
import { keepMemoryOutOfCoreFiles } from "../server/core-files.ts";
import { createProgram, usageError, type Dispatch } from "./program.ts";
import { withSession } from "./session.ts";
import type { Options, Verb } from "./verb.ts";
import { VERBS } from "./verbs.ts";

const args = process.argv.slice(2);

// A reader that has seen enough (`| head`) is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  process.exit(error.code === "EPIPE" ? 0 : 2);
});

// Spec files hold secrets, and a server that is started from here inherits this.
keepMemoryOutOfCoreFiles();
process.exitCode = await main();

/** Parses the command line, runs one verb, and returns the exit code. */
async function main(): Promise<number> {
  let code = 0;
  const program = createProgram(verbsNamed(args), async (verb, call) => {
    code = await dispatch(verb, call);
  });
  try {
    await program.parseAsync(args, { from: "user" });
    return code;
  } catch (thrown) {
    const error =
      thrown instanceof CommanderError ? usageError(thrown, commandNamed(program)) : thrown;
    if (error === undefined) return 0;
    const { reportError } = await import("./report-error.ts");
    return reportError(error, styleOf(args));
  }
}

/** Building the commands of all verbs takes longer than running most, so only those named are built. */
function verbsNamed(words: readonly string[]): readonly Verb[] {
  const named = VERBS.filter(({ name }) => words.includes(name));
  return named.length > 0 ? named : VERBS;
}

async function dispatch(...[verb, call]: Parameters<Dispatch>): Promise<number> {
  const module = await verb.load?.();
  return withSession(call.options, commandText(), (cli) =>
    Promise.resolve(module?.run(cli, call.options satisfies Options, ...call.args)),
  );
}

function commandText(): string {
  return args
    .map((word) => (/^[\w@%+=:,./#-]+$/.test(word) ? word : JSON.stringify(word)))
    .join(" ");
}

// Parsing may have failed, so the arguments themselves say how to print.
function styleOf(words: readonly string[]): { json: boolean; color: boolean; verbose: boolean } {
  return {
    json: /(?:^|\s)(?:-o ?|--output[= ])json(?:\s|$)/.test(words.join(" ")),
    color: !words.includes("--no-color"),
    verbose: words.includes("--verbose"),
  };
}

/** The deepest command that the arguments name: `pi-workflows server run`. */
function commandNamed(program: Command): string {
  let command = program;
  let name = program.name();
  for (const word of args) {
    const child = command.commands.find((candidate) => candidate.name() === word);
    if (child === undefined) continue;
    command = child;
    name = `${name} ${word}`;
  }
  return name;
}
