import type { Json } from "../../model/canonical.ts";
import { PiWorkflowsError } from "../../model/errors.ts";
import type { JsonSchema } from "../../model/manifest.ts";

/** A value that a person gives, as errors name it. */
export type Given = {
  /** `the input of check-links`. */
  what: string;
  value: Json;
  schema: JsonSchema | undefined;
  /** What the first member of each path is called: `input.url`. */
  root: string;
  hint: string;
};

/**
 * Checks a value before it is sent, so that a mistake is told at once and at its place.
 * @throws PiWorkflowsError INVALID_INPUT
 */
export async function checkGiven({ what, value, schema, root, hint }: Given): Promise<void> {
  if (schema === undefined) return;
  const [{ prepareSchema }, { formatPath }] = await Promise.all([
    import("../../sources/schema.ts"),
    import("../../sources/issue.ts"),
  ]);
  const checked = await (await prepareSchema(schema, { isChecked: true })).check(value);
  if ("value" in checked) return;
  const problems = checked.issues.map(
    ({ path, message }) => `${formatPath([root, ...path])}: ${message}`,
  );
  const [only] = problems;
  const listed = problems.length === 1 ? ` ${only}` : `\n  ${problems.join("\n  ")}`;
  throw new PiWorkflowsError("INVALID_INPUT", `${what} is not valid:${listed}`, {
    hint,
    details: { problems },
  });
}
