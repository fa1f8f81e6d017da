import type { ApplyBatch, ApplyChange, SpecWrite } from "../../model/batch.ts";
import { PiWorkflowsError } from "../../model/errors.ts";
import { byteLength, LIMITS } from "../../model/limits.ts";

/**
 * Holds a batch to the limits before anything is written.
 * @throws TOO_LARGE, BAD_REQUEST naming the resource
 */
export function checkBatch(batch: ApplyBatch): void {
  if (batch.changes.length > LIMITS.batch) {
    throw new PiWorkflowsError(
      "TOO_LARGE",
      `a batch of ${batch.changes.length} changes; ${LIMITS.batch} are allowed`,
    );
  }
  if (batch.project === "") throw new PiWorkflowsError("BAD_REQUEST", "a batch needs a project");
  const seen = new Set<string>();
  for (const change of batch.changes) {
    const name = `${change.manager} ${change.key}`;
    if (seen.has(name)) {
      throw new PiWorkflowsError("BAD_REQUEST", `${name} stands twice in one batch`);
    }
    seen.add(name);
    checkName(change, name);
    if (change.kind !== "prune") checkWrite(name, change.write);
  }
}

function checkName({ manager, key }: ApplyChange, name: string): void {
  if (manager === "" || key === "") {
    throw new PiWorkflowsError("BAD_REQUEST", `${name}: a manager and a key must not be empty`);
  }
  atMost(name, "characters in its key", key.length, LIMITS.key);
  atMost(name, "characters in its manager's name", manager.length, LIMITS.name);
}

function checkWrite(name: string, write: SpecWrite): void {
  atMost(name, "bytes of spec", byteLength(write.spec), LIMITS.spec);
  // The two bytes are the empty list of conditions, which counts as status too.
  atMost(name, "bytes of initial status", byteLength(write.initialStatus) + 2, LIMITS.status);
  const labels = Object.entries(write.labels);
  atMost(name, "labels", labels.length, LIMITS.labels);
  for (const [key, value] of labels) {
    atMost(name, "characters in a label", Math.max(key.length, value.length), LIMITS.label);
  }
  atMost(name, "dependencies", write.dependsOn.length, LIMITS.dependsOn);
}

function atMost(name: string, what: string, found: number, allowed: number): void {
  if (found <= allowed) return;
  throw new PiWorkflowsError("TOO_LARGE", `${name} has ${found} ${what}; ${allowed} are allowed`, {
    details: { resource: name, found, allowed },
  });
}
