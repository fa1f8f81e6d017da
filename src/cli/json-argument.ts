import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import type { Json } from "../model/canonical.ts";
import { PiWorkflowsError } from "../model/errors.ts";
import { LIMITS } from "../model/limits.ts";
import { findProto } from "../sources/json-names.ts";
import type { Cli } from "./invocation.ts";

/** A value that a person gives: what it is for, in errors, and how it is given in the right way. */
export type JsonArgument = { what: string; example: string };

/**
 * The text that an argument stands for: itself, the content of `@FILE`, or standard input for `-`.
 * @throws PiWorkflowsError USAGE
 */
export async function textOfArgument(
  cli: Cli,
  given: string,
  { what }: JsonArgument,
): Promise<string> {
  if (given === "-") {
    if (process.stdin.isTTY)
      cli.output.note(`reading the ${what} from the terminal; Ctrl-D ends it`);
    return text(process.stdin);
  }
  return given.startsWith("@") ? readFileOf(given.slice(1), what) : given;
}

function readFileOf(file: string, what: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new PiWorkflowsError("USAGE", `@${file}: the file can't be read`, {
      hint: `Give the ${what} as JSON, or @ and the path of a file that holds it.`,
      cause,
    });
  }
}

/** @throws PiWorkflowsError USAGE, TOO_LARGE */
export function parseArgument(json: string, { what, example }: JsonArgument): Json {
  if (Buffer.byteLength(json) > LIMITS.manifestFile) {
    throw new PiWorkflowsError(
      "TOO_LARGE",
      `the ${what} is larger than ${LIMITS.manifestFile} bytes`,
    );
  }
  let value: Json;
  try {
    value = JSON.parse(json) as Json;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new PiWorkflowsError("USAGE", `the ${what} is no JSON: ${reason}`, {
      hint: `Quote it for the shell: '${example}', or put it into a file and give @FILE.`,
      cause,
    });
  }
  const foreign = findProto(value);
  if (foreign === undefined) return value;
  throw new PiWorkflowsError("USAGE", `the ${what}: ${foreign}: this name is not allowed`);
}
