import type { ApplyBatch, ApplyChange, ManagerRecord, SpecWrite } from "../model/batch.ts";
import { canonicalJson, fingerprintText } from "../model/canonical.ts";
import { PiWorkflowsError, toPiWorkflowsError } from "../model/errors.ts";
import { byteLength, LIMITS } from "../model/limits.ts";
import { describeRef } from "../model/resource.ts";
import { formatPath } from "../sources/issue.ts";
import { prepareSchema, type Schema } from "../sources/schema.ts";
import { nextTurn } from "./turn.ts";

/** Checks what a client says of its batch before the store sees it. */
export type BatchCheck = (batch: ApplyBatch, managerOf: ManagerOf) => Promise<void>;
/** @throws UNKNOWN_MANAGER */
export type ManagerOf = (name: string) => ManagerRecord;

// After so many changes the event loop gets a turn: a thousand at once take tens of milliseconds.
const CHANGES_PER_TURN = 50;
// Compiling grows with the schema and blocks the event loop: some tens of milliseconds at this size.
const SCHEMA_BYTES = 256 * 1024;
const CACHED_SCHEMAS = 500;
const PROBLEMS_SHOWN = 10;

/**
 * Makes the check of batches: sizes, canonical form, hash, and the manager's schema, all again,
 * because a client may be wrong. `hosted` gives the schemas of managers handed over as objects.
 */
export function createBatchCheck(hosted: ReadonlyMap<string, Schema | undefined>): BatchCheck {
  const compiled = new Map<string, Schema>();

  const schemaOf = async (record: ManagerRecord): Promise<Schema | undefined> => {
    // What is stored went through the schema already; a transform can't be made of it again.
    if (record.scope === "hosted" && !record.storedSchema) return hosted.get(record.name);
    if (!record.specSchema) return undefined;
    const known = compiled.get(record.digest);
    if (known) return known;
    const schema = await compile(record);
    if (compiled.size >= CACHED_SCHEMAS) compiled.clear();
    compiled.set(record.digest, schema);
    return schema;
  };

  return async (batch, managerOf) => {
    for (const [index, change] of batch.changes.entries()) {
      if (index > 0 && index % CHANGES_PER_TURN === 0) await nextTurn();
      if (change.kind === "prune") continue;
      const spec = readWrite(change, change.write);
      await checkSchema(change, spec, await schemaOf(managerOf(change.manager)));
    }
  };
}

/** The spec of a change, whose texts must be what they say they are. */
function readWrite(change: ApplyChange, write: SpecWrite): unknown {
  const name = nameOf(change);
  checkSize(name, "spec", write.spec);
  checkSize(name, "status", write.initialStatus);
  const spec = parseCanonical(name, "spec", write.spec);
  parseCanonical(name, "initial status", write.initialStatus);
  if (fingerprintText(write.spec) !== write.specHash) {
    throw new PiWorkflowsError("BAD_REQUEST", `${name}: the hash is not that of the spec`);
  }
  return spec;
}

async function checkSchema(
  change: ApplyChange,
  spec: unknown,
  schema: Schema | undefined,
): Promise<void> {
  const checked = await schema?.check(spec);
  if (!checked || "value" in checked) return;
  const problems = checked.issues
    .slice(0, PROBLEMS_SHOWN)
    .map(({ path, message }) => `${formatPath(["spec", ...path])}: ${message}`);
  throw new PiWorkflowsError("INVALID_SPECS", `${nameOf(change)}: ${problems.join("; ")}`, {
    details: { resourceManager: change.manager, key: change.key, problems },
  });
}

function nameOf({ manager, key }: ApplyChange): string {
  return describeRef({ resourceManager: manager, key });
}

function checkSize(name: string, what: "spec" | "status", text: string): void {
  const bytes = byteLength(text);
  if (bytes <= LIMITS[what]) return;
  throw new PiWorkflowsError(
    "TOO_LARGE",
    `${name}: the ${what} has ${bytes} bytes; at most ${LIMITS[what]} are allowed`,
  );
}

function parseCanonical(name: string, what: string, text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new PiWorkflowsError("BAD_REQUEST", `${name}: the ${what} is not JSON`, { cause });
  }
  if (canonicalJson(value) === text) return value;
  throw new PiWorkflowsError("BAD_REQUEST", `${name}: the ${what} is not canonical JSON`);
}

async function compile({ name, specSchema, storedSchema }: ManagerRecord): Promise<Schema> {
  const schema = storedSchema ?? specSchema;
  const bytes = byteLength(JSON.stringify(schema));
  if (bytes > SCHEMA_BYTES) {
    throw new PiWorkflowsError(
      "TOO_LARGE",
      `The spec schema of ${name} has ${bytes} bytes; at most ${SCHEMA_BYTES} are allowed`,
    );
  }
  try {
    return await prepareSchema(schema, { isChecked: true });
  } catch (cause) {
    const { message } = toPiWorkflowsError(cause);
    throw new PiWorkflowsError("INVALID_DEFINITION", `The spec schema of ${name}: ${message}`, {
      cause,
    });
  }
}
