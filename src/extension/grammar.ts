import { PiWorkflowsError } from "../model/errors.ts";
import { splitWords } from "./words.ts";

/** What an operand names, which says how it is completed. */
export type OperandKind = "manager" | "key" | "path" | "workflow" | "run" | "value";
export type Operand = { name: string; kind: OperandKind; optional?: true; many?: true };
export type Flag = { about: string; takes?: string };

/** One sub-command of a slash command, as a table: parsed, completed and explained from it. */
export type Verb = {
  name: string;
  about: string;
  operands: readonly Operand[];
  flags?: Readonly<Record<string, Flag>>;
  /** Another way to write the operands, for its usage. */
  alsoAs?: string;
};

/** What was asked for. */
export type Call = {
  verb: string;
  operands: string[];
  /** Values of flags; true for those that take none. */
  flags: Readonly<Record<string, string | true>>;
};

/** A slash command and its verbs. */
export type Grammar = { command: string; about: string; verbs: readonly Verb[] };

/**
 * Reads what was typed after a command. Nothing typed asks for help.
 * @throws PiWorkflowsError USAGE
 */
export function parseCall(grammar: Grammar, line: string): Call {
  const [first, ...rest] = splitWords(line);
  if (first === undefined || first.text === "help")
    return { verb: "help", operands: [], flags: {} };
  const verb = grammar.verbs.find(({ name }) => name === first.text);
  if (!verb) throw usage(`there is no ${first.text}`, `There is: ${namesOf(grammar)}.`);
  const hint = `Write: ${usageOf(grammar, verb)}`;
  const operands: string[] = [];
  const flags: Record<string, string | true> = {};
  for (let at = 0; at < rest.length; at += 1) {
    const word = rest[at] as (typeof rest)[number];
    if (!word.closed) throw usage(`${word.text} is not closed`, "A quote or a bracket is missing.");
    if (word.json || !word.text.startsWith("--")) {
      operands.push(word.text);
      continue;
    }
    const [name = "", inline] = word.text.slice(2).split(/=(.*)/s);
    const flag = verb.flags?.[name];
    if (!flag) throw usage(`${verb.name} knows no --${name}`, hint);
    const value = flag.takes === undefined ? true : (inline ?? rest[++at]?.text);
    if (value === undefined) throw usage(`--${name} needs a value`, hint);
    flags[name] = value;
  }
  checkCount(verb, operands, hint);
  return { verb: verb.name, operands, flags };
}

function checkCount({ name, operands }: Verb, given: readonly string[], hint: string): void {
  const missing = operands.slice(given.length).find(({ optional }) => !optional);
  if (missing) throw usage(`${name} needs ${missing.name}`, hint);
  if (given.length > operands.length && !operands.at(-1)?.many) {
    throw usage(`${name} does not take ${given[operands.length]}`, hint);
  }
}

/** `/resource-manager events [MANAGER] [KEY] [--limit COUNT]` */
export function usageOf({ command }: Grammar, verb: Verb): string {
  const operands = verb.operands.map(({ name, optional, many }) => {
    const shown = many ? `${name}…` : name;
    return optional ? `[${shown}]` : shown;
  });
  const flags = Object.entries(verb.flags ?? {}).map(
    ([name, { takes }]) => `[--${name}${takes === undefined ? "" : ` ${takes}`}]`,
  );
  const also = verb.alsoAs === undefined ? [] : [`(or ${verb.alsoAs})`];
  return [`/${command}`, verb.name, ...operands, ...also, ...flags].join(" ");
}

/** Every verb with what it does. */
export function helpOf(grammar: Grammar): string {
  const lines = grammar.verbs.flatMap((verb) => {
    const flags = Object.entries(verb.flags ?? {}).map(
      ([name, { about }]) => `      --${name}: ${about}`,
    );
    return [`  ${usageOf(grammar, verb)}`, `      ${verb.about}`, ...flags];
  });
  return [grammar.about, "", ...lines].join("\n");
}

function namesOf({ verbs }: Grammar): string {
  return verbs.map(({ name }) => name).join(", ");
}

function usage(message: string, hint: string): PiWorkflowsError {
  return new PiWorkflowsError("USAGE", message, { hint });
}
