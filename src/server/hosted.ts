import { fingerprint } from "../model/canonical.ts";
import { PiWorkflowsError, toPiWorkflowsError } from "../model/errors.ts";
import { LIMITS } from "../model/limits.ts";
import { managerName, type ResolvedManager } from "../model/manifest.ts";
import type { ResourceManager } from "../resource-managers/define.ts";
import { describeSources } from "../sources/describe-sources.ts";
import { secretPathsOf } from "../sources/json-schema.ts";
import { prepareSchema, type Schema } from "../sources/schema.ts";

/** A manager handed over as an object: what the store keeps of it, and its own schema. */
export type HostedManager = { manager: ResolvedManager; schema: Schema | undefined };

/**
 * Describes a manager that runs in the program's own process. Its digest covers what the server
 * knows of it; its code is the program's.
 * @throws INVALID_DEFINITION
 */
export async function describeHosted(definition: ResourceManager): Promise<HostedManager> {
  const { name, maxConcurrent, deadlineMs } = definition;
  if (!managerName.safeParse(name).success) {
    throw invalid(name, "the name must be lower-case letters, digits and dashes");
  }
  const schema = await schemaOf(name, definition.spec);
  const status = await schemaOf(name, definition.status);
  const sources = describeSources(definition.sources, Date.now());
  for (const { message } of sources.faults) throw invalid(name, message);
  const facts = {
    name,
    path: `hosted:${name}`,
    scope: "hosted" as const,
    inputs: [],
    ...(schema?.json ? { specSchema: schema.json } : {}),
    ...(schema?.stored ? { storedSchema: schema.stored } : {}),
    ...(status?.json ? { statusSchema: status.json } : {}),
    secretPaths: secretPathsOf(schema?.json),
    sources: sources.sources,
    deadlineMs: deadlineMs ?? LIMITS.deadlineMs,
    maxConcurrent: maxConcurrent ?? LIMITS.concurrencyPerManager,
  };
  for (const [field, longest] of [
    ["deadlineMs", LIMITS.maxDeadlineMs],
    ["maxConcurrent", LIMITS.maxConcurrent],
  ] as const) {
    const value = facts[field];
    if (Number.isInteger(value) && value >= 1 && value <= longest) continue;
    throw invalid(name, `${field} must be a whole number from 1 to ${longest}`);
  }
  return { manager: { ...facts, digest: fingerprint(facts) }, schema };
}

async function schemaOf(name: string, schema: unknown): Promise<Schema | undefined> {
  if (schema === undefined) return undefined;
  try {
    return await prepareSchema(schema);
  } catch (cause) {
    throw invalid(name, `a schema of it ${toPiWorkflowsError(cause).message}`);
  }
}

function invalid(name: string, reason: string): PiWorkflowsError {
  return new PiWorkflowsError("INVALID_DEFINITION", `The resource manager ${name}: ${reason}`);
}
