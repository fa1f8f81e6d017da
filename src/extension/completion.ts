import { readdirSync } from "node:fs";
import path from "node:path";
import type { Grammar, OperandKind, Verb } from "./grammar.ts";
import type { Completion } from "./pi.ts";
import { quoteWord, splitWords, type Word } from "./words.ts";

/** A thing that may be typed, and what it is. */
export type Candidate = { text: string; about?: string };

/** Names that exist, asked of the server when they are needed. */
export type Names = {
  managers(): Promise<Candidate[]>;
  keys(manager: string): Promise<Candidate[]>;
  workflows(): Promise<Candidate[]>;
  runs(): Promise<Candidate[]>;
};

const MOST = 50;

/**
 * What may come next after `prefix`, the text after the command; null where nothing is known. Each
 * value is the whole text again, as Pi wants it.
 */
export async function complete(
  grammar: Grammar,
  prefix: string,
  { names, cwd }: { names: Names; cwd: string },
): Promise<Completion[] | null> {
  const words = splitWords(prefix);
  const last = words.at(-1);
  const open = last !== undefined && last.end === prefix.length ? last : undefined;
  const before = open ? words.slice(0, -1) : words;
  const typed = open?.text ?? "";
  if (open?.json) return null;
  const candidates = await candidatesFor(grammar, before, { typed, names, cwd });
  const head = prefix.slice(0, open?.start ?? prefix.length);
  const found = candidates
    .filter(({ text }) => text.startsWith(typed))
    .slice(0, MOST)
    .map(({ text, about }) => ({
      value: head + quoteWord(text),
      label: text,
      ...(about === undefined ? {} : { description: about }),
    }));
  return found.length === 0 ? null : found;
}

type Place = { typed: string; names: Names; cwd: string };

async function candidatesFor(
  grammar: Grammar,
  before: readonly Word[],
  { typed, names, cwd }: Place,
): Promise<Candidate[]> {
  const [first, ...given] = before;
  if (first === undefined) return grammar.verbs.map(({ name, about }) => ({ text: name, about }));
  const verb = grammar.verbs.find(({ name }) => name === first.text);
  if (!verb) return [];
  if (typed.startsWith("-")) return flagsOf(verb);
  const operands = operandsOf(verb, given);
  switch (kindAt(verb, operands.length)) {
    case "manager":
      return names.managers();
    case "key":
      return names.keys(operands[operands.length - 1] ?? "");
    case "path":
      return pathCandidates(operands, { typed, names, cwd });
    case "workflow":
      return names.workflows();
    case "run":
      return names.runs();
    case "value":
    case undefined:
      return [];
  }
}

function flagsOf(verb: Verb): Candidate[] {
  return Object.entries(verb.flags ?? {}).map(([name, { about }]) => ({
    text: `--${name}`,
    about,
  }));
}

/** What was given beside flags and their values. */
function operandsOf(verb: Verb, words: readonly Word[]): string[] {
  const operands: string[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const { text } = words[at] as Word;
    if (!text.startsWith("--")) operands.push(text);
    else if (verb.flags?.[text.slice(2)]?.takes !== undefined) at += 1;
  }
  return operands;
}

function kindAt(verb: Verb, index: number): OperandKind | undefined {
  const last = verb.operands.at(-1);
  return (verb.operands[index] ?? (last?.many ? last : undefined))?.kind;
}

/** Files, and for `apply` also a manager and then its keys, which may stand in their place. */
async function pathCandidates(
  operands: readonly string[],
  { typed, names, cwd }: Place,
): Promise<Candidate[]> {
  const files = filesUnder(cwd, typed);
  const managers = operands.length < 2 ? await names.managers() : [];
  if (operands.length === 0) return [...files, ...managers];
  const [manager = ""] = operands;
  const isManager = operands.length === 1 && managers.some(({ text }) => text === manager);
  return isManager ? names.keys(manager) : files;
}

const SPEC_FILE = /\.resource\.(?:json|ts)$/;

/** Folders and spec files that begin as typed; hidden ones only where a dot was typed, but `.pi`. */
function filesUnder(cwd: string, typed: string): Candidate[] {
  const folder = typed.slice(0, typed.lastIndexOf("/") + 1);
  const begin = typed.slice(folder.length);
  try {
    return readdirSync(path.resolve(cwd, folder), { withFileTypes: true })
      .filter(({ name }) => name.startsWith(begin) && name !== "node_modules")
      .filter(({ name }) => !name.startsWith(".") || begin.startsWith(".") || name === ".pi")
      .filter((entry) => entry.isDirectory() || SPEC_FILE.test(entry.name))
      .map((entry) => ({ text: folder + entry.name + (entry.isDirectory() ? "/" : "") }))
      .sort((a, b) => (a.text < b.text ? -1 : 1));
  } catch {
    return [];
  }
}
