import type { Json } from "../../model/canonical.ts";
import { PiWorkflowsError, toPiWorkflowsError } from "../../model/errors.ts";
import type { JsonSchema } from "../../model/manifest.ts";
import { formatPath } from "../../sources/issue.ts";
import { prepareSchema, type Schema } from "../../sources/schema.ts";

/** A value that a person or a pass gave for a place of a workflow. */
export type Given = {
  /** For messages: `the input of check-links`. */
  what: string;
  value: Json;
  schema: JsonSchema | undefined;
  /** What the first member of each path is called. */
  root: "input" | "answer" | "output";
};

/** Checks values against the JSON Schemas of workflows. @throws INVALID_INPUT naming each place */
export type ValueCheck = (given: Given) => Promise<void>;

const CACHED_SCHEMAS = 500;
const PROBLEMS_SHOWN = 10;

export function createValueCheck(): ValueCheck {
  // By the schema's text: runs of old code have other schemas under the same workflow's name.
  const compiled = new Map<string, Schema>();
  const schemaOf = async (what: string, schema: JsonSchema): Promise<Schema> => {
    const text = JSON.stringify(schema);
    const known = compiled.get(text);
    if (known) return known;
    try {
      const made = await prepareSchema(schema, { isChecked: true });
      if (compiled.size >= CACHED_SCHEMAS) compiled.clear();
      compiled.set(text, made);
      return made;
    } catch (cause) {
      const { message } = toPiWorkflowsError(cause);
      throw new PiWorkflowsError("INVALID_DEFINITION", `The schema of ${what}: ${message}`, {
        cause,
      });
    }
  };
  return async ({ what, value, schema, root }) => {
    if (!schema) return;
    const checked = await (await schemaOf(what, schema)).check(value);
    if ("value" in checked) return;
    const problems = checked.issues
      .slice(0, PROBLEMS_SHOWN)
      .map(({ path, message }) => `${formatPath([root, ...path])}: ${message}`);
    throw new PiWorkflowsError("INVALID_INPUT", `${what} is not valid: ${problems.join("; ")}`, {
      details: { problems },
    });
  };
}
