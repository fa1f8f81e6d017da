import { ERRORS, toPiWorkflowsError, type PiWorkflowsError } from "../model/errors.ts";
import { formatProblem, type Problem } from "../model/manifest.ts";
import { printable, printableJson, printableLines } from "../model/text.ts";
import { colorsFor, sieve, type Colors } from "./output.ts";

/** How an error is to be shown. */
export type ErrorStyle = { json: boolean; color: boolean; verbose: boolean };

/** Prints what was thrown and returns the exit code for it. */
export function reportError(thrown: unknown, style: ErrorStyle): number {
  const error = toPiWorkflowsError(thrown);
  if (style.json) {
    const stack = style.verbose ? { stack: stackOf(error) } : {};
    process.stdout.write(`${printableJson({ error: { ...error.toJSON(), ...stack } }, 2)}\n`);
  } else {
    const colors = colorsFor(process.stderr, style.color);
    const stack = style.verbose ? [stackOf(error)] : [];
    process.stderr.write(sieve(colors)(`${[describe(error, colors), ...stack].join("\n")}\n`));
  }
  return ERRORS[error.code].exit;
}

function describe(error: PiWorkflowsError, colors: Colors): string {
  const listed = (error.details?.["problems"] ?? []) as (Problem | string)[];
  // Those that are texts are in the message.
  const problems = listed.filter((problem) => typeof problem !== "string");
  // The problems are listed with their lines, so the message need not list them again.
  const [title = ""] = error.message.split(":\n");
  const message = problems.length === 0 ? error.message : title;
  return [
    ...problems.map((problem) => describeProblem(problem, colors)),
    `${colors.red(colors.bold(`error[${error.code}]`))}: ${printableLines(message)}`,
    ...(error.hint === "" ? [] : [`${colors.cyan("hint")}: ${printableLines(error.hint)}`]),
  ].join("\n");
}

/** One problem with the lines around its place, for people. */
export function describeProblem(problem: Problem, colors: Colors): string {
  const line = printable(formatProblem(problem));
  return problem.frame === undefined
    ? line
    : `${line}\n${colors.dim(printableLines(problem.frame))}\n`;
}

function stackOf(error: PiWorkflowsError): string {
  const cause = error.cause instanceof Error ? `\ncaused by: ${error.cause.stack}` : "";
  return `${error.stack ?? ""}${cause}`;
}
