import { DURATION_FORM, parseDuration } from "../model/duration.ts";
import { SAFETIES } from "../model/graph.ts";
import { LIMITS } from "../model/limits.ts";
import { NODE, type NodeDefinition, type AnyNode } from "./nodes.ts";
import { didYouMean } from "../model/nearest.ts";
import { isRecord, isSchema, show, unknownKeys } from "./problem.ts";

/** What is wrong with an option: undefined where nothing is. */
type Test = (value: unknown) => string | undefined;

const text: Test = (value) =>
  typeof value === "string" && value !== "" ? undefined : `must be a text, not ${show(value)}`;
const schema: Test = (value) =>
  isSchema(value) ? undefined : `must be a zod schema, not ${show(value)}`;
const code: Test = (value) =>
  typeof value === "function" ? undefined : `must be a function, not ${show(value)}`;
const duration: Test = (value) =>
  parseDuration(value) === undefined ? `must be ${DURATION_FORM}, not ${show(value)}` : undefined;
const safety: Test = (value) =>
  SAFETIES.some((known) => known === value)
    ? undefined
    : `must be ${SAFETIES.map((known) => JSON.stringify(known)).join(", ")}, not ${show(value)}: ` +
      "may it be run again after a crash in its middle?";
const texts: Test = (value) =>
  Array.isArray(value) && value.every((item) => typeof item === "string")
    ? undefined
    : `must be an array of texts, not ${show(value)}`;
const argv: Test = (value) =>
  texts(value) === undefined && (value as string[]).length > 0
    ? undefined
    : 'must be the program and its arguments, such as ["npm", "test"]; a line for a shell is `shell`';
const environment: Test = (value) =>
  isRecord(value) && Object.values(value).every((item) => typeof item === "string")
    ? undefined
    : `must be an object of texts, not ${show(value)}`;
const exitCodes: Test = (value) =>
  value === "any" || (Array.isArray(value) && value.length > 0 && value.every(isExitCode))
    ? undefined
    : 'must be an array of exit codes, such as [0, 1], or "any"';
const retry: Test = (value) => {
  const form = 'must be { times: 3 } or { times: 3, delay: "10s" }';
  if (!isRecord(value) || unknownKeys(Object.keys(value), ["times", "delay"]).length > 0)
    return form;
  const { times, delay } = value;
  if (!Number.isInteger(times) || (times as number) < 1 || (times as number) > LIMITS.nodeRetries) {
    return `times: must be a whole number from 1 to ${LIMITS.nodeRetries}, not ${show(times)}`;
  }
  const fault = delay === undefined || delay === "0s" ? undefined : duration(delay);
  return fault && `delay: ${fault}`;
};
const choices: Test = (value) => {
  if (!Array.isArray(value) || value.length === 0) {
    return 'must name at least one choice: ["yes", "no"]';
  }
  if (value.length > LIMITS.choices) return `at most ${LIMITS.choices} choices`;
  for (const [index, choice] of value.entries()) {
    if (typeof choice !== "string" || choice === "" || choice.length > LIMITS.name) {
      return `[${index}] must be a text of up to ${LIMITS.name} characters, not ${show(choice)}`;
    }
    if (choice === "failure")
      return '"failure" is where the edge leads on failure; rename the choice';
    if (value.indexOf(choice) !== index) return `${JSON.stringify(choice)} is there twice`;
  }
  return undefined;
};

function isExitCode(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 255;
}

/** `test` of what is written; a function computes it when the node runs. */
function orComputed(test: Test): Test {
  return (value) => (typeof value === "function" ? undefined : test(value));
}

const COMMON = { title: text, input: schema };
const ATTEMPTS = { timeout: duration, retry };
const ASKING = {
  ...ATTEMPTS,
  prompt: orComputed(text),
  tools: texts,
  model: text,
  cwd: orComputed(text),
  conversation: text,
};
const OPTIONS: Record<NodeDefinition["kind"], Record<string, Test>> = {
  compute: { ...COMMON, ...ATTEMPTS, run: code, output: schema },
  action: { ...COMMON, ...ATTEMPTS, run: code, output: schema, safety, compensate: code },
  shell: {
    ...COMMON,
    ...ATTEMPTS,
    command: orComputed(argv),
    shell: orComputed(text),
    cwd: orComputed(text),
    env: orComputed(environment),
    exitCodes,
    parse: code,
    output: schema,
    safety,
    compensate: code,
  },
  agent: { ...COMMON, ...ASKING, output: schema, safety },
  decision: { ...COMMON, ...ASKING, choices, choose: code },
  checkpoint: { ...COMMON, message: orComputed(text), answer: schema },
};

/** What must be there. Of alternatives exactly one. */
const REQUIRED: Record<NodeDefinition["kind"], string[][]> = {
  compute: [["run"]],
  action: [["safety"], ["run"]],
  shell: [["command", "shell"]],
  agent: [["prompt"], ["output"]],
  decision: [["choices"], ["choose", "prompt"]],
  checkpoint: [["message"], ["answer"]],
};

/** Checks the options of one node; paths begin with a dot. */
export function checkNode(node: AnyNode, report: (path: string, message: string) => void): void {
  const { kind, options } = node[NODE] as { kind: NodeDefinition["kind"]; options: unknown };
  if (!isRecord(options)) {
    report("", `${kind}(…) takes an object of options, not ${show(options)}`);
    return;
  }
  const tests = OPTIONS[kind];
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const test = Object.hasOwn(tests, name) ? tests[name] : undefined;
    if (test === undefined) {
      report(`.${name}`, `${kind}(…) has no such option${didYouMean(name, Object.keys(tests))}`);
    } else {
      const fault = test(value);
      if (fault !== undefined) report(`.${name}`, fault);
    }
  }
  for (const alternatives of REQUIRED[kind]) {
    const given = alternatives.filter((name) => options[name] !== undefined);
    if (given.length === 1) continue;
    const wanted = alternatives.join(" or ");
    if (given.length === 0) report(`.${alternatives[0]}`, `is missing: ${missing(kind, wanted)}`);
    else report("", `has both ${alternatives.join(" and ")}; leave one out`);
  }
}

function missing(kind: NodeDefinition["kind"], wanted: string): string {
  const why: Record<string, string> = {
    safety: '"idempotent" where it may run again after a crash in its middle, else "manual"',
    run: "the function that does the node's work",
    "command or shell": 'the program and its arguments, such as command: ["npm", "test"]',
    prompt: "what the agent is asked",
    output: "the zod schema of what the agent must answer",
    choices: 'the ways it may take, such as ["yes", "no"]',
    "choose or prompt": "a function that decides, or what an agent is asked",
    message: "what a person is asked",
    answer: "the zod schema of the answer",
  };
  return why[wanted] ?? `${kind}(…) needs it`;
}
