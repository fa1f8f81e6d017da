import type { JsonSchema } from "../model/manifest.ts";
import type { ResourceManager } from "../resource-managers/define.ts";
import { loadAjv2020 } from "../sources/lazy-packages.ts";

/** Returns what is wrong with a status, or nothing. */
type Validator = (status: unknown) => string | undefined;

const compiled = new WeakMap<JsonSchema, Validator>();

/**
 * Checks a status against the manager's own schema, where it gives one. Ajv is loaded only for
 * managers that give a JSON Schema, so that the runners of others do not carry it.
 * @throws TypeError that names the first place that does not fit.
 */
export function checkStatusSchema(
  { name, status: schema }: Pick<ResourceManager, "name" | "status">,
  status: unknown,
): void {
  if (schema === undefined || status === undefined) return;
  const wrong = isZod(schema) ? zodProblem(schema, status) : compile(schema)(status);
  if (wrong === undefined) return;
  throw new TypeError(`resourceManagerStatus does not fit the status schema of ${name}: ${wrong}`);
}

type Zod = { safeParse(value: unknown): { error?: { issues: ZodIssue[] } | undefined } };
type ZodIssue = { path: PropertyKey[]; message: string };

// The definition brings its own copy of zod, so its schemas are told by what they can do.
function isZod(schema: object): schema is Zod {
  return "safeParse" in schema && typeof schema.safeParse === "function";
}

function zodProblem(schema: Zod, status: unknown): string | undefined {
  const issue = schema.safeParse(status).error?.issues[0];
  return issue && `${issue.path.map(String).join(".")} ${issue.message}`.trim();
}

function compile(schema: JsonSchema): Validator {
  const known = compiled.get(schema);
  if (known) return known;
  const Ajv2020 = loadAjv2020();
  const validate = new Ajv2020({ strict: false }).compile(schema);
  const validator: Validator = (status) => {
    if (validate(status)) return undefined;
    const problem = validate.errors?.[0];
    return `${problem?.instancePath ?? ""} ${problem?.message ?? "does not fit"}`.trim();
  };
  compiled.set(schema, validator);
  return validator;
}
