import { Argument as CommanderArgument, Command, Option, type CommanderError } from "commander";
import { PiWorkflowsError } from "../model/errors.ts";
import { VERSION } from "../model/installation.ts";
import type { Flag, Options, Verb } from "./verb.ts";

/** Runs the verb that the arguments name. */
export type Dispatch = (verb: Verb, call: { args: string[]; options: Options }) => Promise<void>;

const GLOBAL = "Global options:";

/** Flags of every verb. */
export const GLOBAL_FLAGS: Flag[] = [
  {
    flags: "-C, --project <dir>",
    description: "run as if started in this folder",
    complete: "directory",
  },
  { flags: "--verbose", description: "say more, and show where an error came from" },
  { flags: "--no-color", description: "no colours (NO_COLOR does the same)" },
];

const ROOT_DESCRIPTION =
  "Declarative GitOps for long-running automation: commit specs, and resource managers make the " +
  "outside world match.";

/** The commander tree of all verbs. */
export function createProgram(verbs: readonly Verb[], dispatch: Dispatch): Command {
  const program = new Command("pi-workflows")
    .description(ROOT_DESCRIPTION)
    .optionsGroup(GLOBAL)
    .version(VERSION, "--version", "print the version")
    .helpCommand("help [command]", "print the help of a command")
    .enablePositionalOptions()
    .usage("<command> [options]");
  prepare(program);
  addFlags(program, GLOBAL_FLAGS, GLOBAL);
  program.addHelpText("after", () => rootFooter());
  for (const verb of verbs) program.addCommand(createCommand(verb, dispatch), verbSettings(verb));
  return program;
}

function rootFooter(): string {
  return [
    "",
    "Start here:",
    "  pi-workflows init                         a working example in this folder",
    "  pi-workflows diff -f .pi/resources        what would change; changes nothing",
    "  pi-workflows apply -f .pi/resources       make it so",
    "  pi-workflows why MANAGER KEY              why a resource is as it is",
    "  pi-workflows run start WORKFLOW --wait    run a workflow, and see it through",
    "",
    "Exit codes: 0 done, 1 diff found changes or a run failed, 2 error, 3 blocked until a person confirms",
    "or answers, 4 wait timed out, 5 server unreachable.",
  ].join("\n");
}

function verbSettings(verb: Verb): { hidden: boolean } {
  return { hidden: verb.hidden === true };
}

function createCommand(verb: Verb, dispatch: Dispatch): Command {
  const command = new Command(verb.name)
    .summary(verb.summary)
    .description(verb.description ?? `${verb.summary}.`);
  prepare(command);
  if (verb.group !== undefined) command.helpGroup(verb.group);
  for (const argument of verb.arguments ?? []) {
    const commanderArgument = new CommanderArgument(argument.usage, argument.description);
    if (argument.choices) commanderArgument.choices([...argument.choices]);
    command.addArgument(commanderArgument);
  }
  addFlags(command, verb.flags ?? [], "Options:");
  addFlags(command, GLOBAL_FLAGS, GLOBAL);
  command.addHelpText("after", () => footer(verb));
  for (const child of verb.verbs ?? []) {
    command.helpCommand(false).addCommand(createCommand(child, dispatch), verbSettings(child));
  }
  if (verb.load !== undefined) {
    command.action(async () => {
      const options = definedOptions(command);
      await dispatch(verb, { args: command.processedArgs.flat() as string[], options });
    });
  }
  return command;
}

// Global options may stand before the verb as well; the ones after it win.
function definedOptions(command: Command): Options {
  const inherited = command.parent ? definedOptions(command.parent) : {};
  const own = Object.entries(command.opts<Options>()).filter(
    ([name]) => command.getOptionValueSource(name) !== "default",
  );
  return { ...inherited, ...Object.fromEntries(own) };
}

function addFlags(command: Command, flags: readonly Flag[], group: string): void {
  for (const flag of flags) {
    const option = new Option(flag.flags, flag.description).helpGroup(flag.group ?? group);
    if (flag.choices) option.choices([...flag.choices]);
    if (flag.parse) option.argParser(parserOf(option, flag.parse));
    if (flag.hidden) option.hideHelp();
    command.addOption(option);
  }
}

function parserOf(option: Option, parse: NonNullable<Flag["parse"]>): NonNullable<Flag["parse"]> {
  return (text, previous) => {
    try {
      return parse(text, previous);
    } catch (thrown) {
      if (!(thrown instanceof PiWorkflowsError)) throw thrown;
      throw new PiWorkflowsError(thrown.code, `${option.long}: ${thrown.message}`, {
        hint: thrown.hint,
      });
    }
  };
}

function footer(verb: Verb): string {
  const lines: string[] = [];
  if (verb.exitCodes) {
    lines.push("", "Exit codes:");
    for (const [code, meaning] of Object.entries(verb.exitCodes))
      lines.push(`  ${code}  ${meaning}`);
  }
  if (verb.examples) {
    lines.push("", "Examples:");
    for (const { command, does } of verb.examples) lines.push(`  # ${does}`, `  $ ${command}`);
  }
  return lines.join("\n");
}

function prepare(command: Command): void {
  command
    .addHelpOption(new Option("-h, --help", "print this help").helpGroup(GLOBAL))
    .exitOverride()
    .showSuggestionAfterError(true)
    .allowExcessArguments(false)
    .configureHelp({ subcommandTerm: (child) => child.name() })
    .configureOutput({
      // Only help comes here, where a command is missing: errors are printed in one place, `main`.
      writeErr: (text) => void process.stdout.write(text),
      outputError: () => {},
    });
}

/** What commander threw, as our error; undefined where it only printed help or the version. */
export function usageError(thrown: CommanderError, command: string): PiWorkflowsError | undefined {
  if (thrown.exitCode === 0 || thrown.code === "commander.help") return undefined;
  const [message = "", suggestion = ""] = thrown.message.replace(/^error: /, "").split("\n(");
  return new PiWorkflowsError("USAGE", message, {
    hint: `${suggestion.replace(/\)$/, " ")}See \`${command} --help\`.`,
  });
}
