import { expect } from "vitest";
import { canonicalJson } from "../../../src/model/canonical.ts";
import { PiWorkflowsError } from "../../../src/model/errors.ts";
import { type Desired, manifestSchema } from "../../../src/model/manifest.ts";
import { createFrameReader } from "../../../src/runner/frames.ts";
import { resultsReader } from "../../../src/runner/resolver-results.ts";
import { readJsonSpec } from "../../../src/sources/json-spec.ts";

/** Does the work, which may be refused with a code of ours and with nothing else. */
export function refusesOrGives<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (thrown) {
    if (thrown instanceof PiWorkflowsError) return undefined;
    throw thrown;
  }
}

/** Everything that a load does with a file before a schema of somebody's own sees it. */
export function readSpecFile(bytes: Uint8Array): void {
  const { manifests, problems } = readJsonSpec("a.resource.json", bytes);
  for (const problem of problems) {
    const { file, line, column, message } = problem;
    if (file !== "a.resource.json" || message === "" || !(line > 0 && column > 0)) {
      expect.unreachable(JSON.stringify(problem));
    }
  }
  for (const manifest of manifests) {
    const { value, place } = manifest;
    if (!(place.line > 0)) expect.unreachable(JSON.stringify(place));
    manifestSchema.safeParse(value);
    if (!(manifest.at(["spec", "merge", 0]).line > 0))
      expect.unreachable("a place before the file");
    refusesOrGives(() => canonicalJson(value));
  }
}

/** Reads bytes as a parent does, in pieces; each frame is a message or a refusal. */
export function readFrames(bytes: Buffer, limit: number, parse: (frame: string) => object): void {
  let held = 0;
  let isOver = false;
  const reader = createFrameReader(
    limit,
    (frame, size) => {
      held = Math.max(held, size);
      refuses(() => parse(frame));
    },
    () => (isOver = true),
  );
  for (let from = 0; from < bytes.length; from += 97) reader.push(bytes.subarray(from, from + 97));
  expect(held).toBeLessThanOrEqual(limit);
  if (isOver) expect(bytes.length).toBeGreaterThan(limit);
}

/** Reads a resolver's manifests as its parent does. */
export function readManifests(bytes: Buffer): void {
  const found: Desired[] = [];
  const reader = resultsReader(10_000, (items) => found.push(...items));
  refuses(() => reader.push(bytes));
  for (const { key, labels, spec } of found) {
    expect([typeof key, typeof labels, typeof spec]).toEqual(["string", "object", "string"]);
  }
}

/** What may refuse in any words, but not by a fault of its own. */
function refuses(work: () => unknown): void {
  try {
    work();
  } catch (thrown) {
    if (thrown instanceof TypeError || thrown instanceof RangeError) throw thrown;
  }
}
