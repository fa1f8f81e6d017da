import { canonicalJson, fingerprintText } from "../model/canonical.ts";
import { PiWorkflowsError } from "../model/errors.ts";
import { byteLength, LIMITS } from "../model/limits.ts";
import { type Desired, type Manifest, manifestSchema, type Problem } from "../model/manifest.ts";
import type { LoadedDefinition } from "./definition.ts";
import type { Unusable } from "./definition-loader.ts";
import { textOf } from "./guard.ts";
import { formatPath, type Issue } from "./issue.ts";
import type { RawManifest } from "./json-spec.ts";
import { type Checked, zodSchema } from "./schema.ts";

/** The name that an unchecked manifest gives its manager; undefined where it gives none. */
export function managerNameOf(raw: RawManifest): string | undefined {
  const { value } = raw;
  if (typeof value !== "object" || value === null || !("resourceManager" in value))
    return undefined;
  return typeof value.resourceManager === "string" ? value.resourceManager : undefined;
}

const manifestCheck = zodSchema(manifestSchema);

/** Checks a manifest: first its own form, then its spec by the manager's schema. */
export async function validate(
  raw: RawManifest,
  definitionOf: (name: string) => LoadedDefinition | Unusable,
): Promise<Desired | { problems: Problem[] }> {
  const checked = manifestCheck.check(raw.value) as Checked;
  if ("issues" in checked)
    return { problems: checked.issues.map((issue) => problemOf(raw, issue)) };
  const manifest = checked.value as Manifest;
  const definition = definitionOf(manifest.resourceManager);
  if ("unusable" in definition) return refuse(raw, ["resourceManager"], definition.unusable);
  const { schema } = definition;
  if (schema === undefined) return complete(raw, manifest, manifest.spec, definition);
  let spec: Checked;
  try {
    // Most schemas answer at once, and 10,000 needless awaits would be felt.
    const answer = schema.check(manifest.spec);
    spec = answer instanceof Promise ? await answer : answer;
  } catch (thrown) {
    return refuse(raw, ["spec"], `the manager's schema failed: ${textOf(thrown)}`);
  }
  if ("value" in spec) return complete(raw, manifest, spec.value, definition);
  const problems = spec.issues.map((issue) =>
    problemOf(raw, { ...issue, path: ["spec", ...issue.path] }),
  );
  return { problems };
}

function complete(
  raw: RawManifest,
  manifest: Manifest,
  value: unknown,
  { manager }: LoadedDefinition,
): Desired | { problems: Problem[] } {
  const spec = canonical(value, "spec", LIMITS.spec);
  if ("refused" in spec) return refuse(raw, ["spec"], spec.refused);
  let status: unknown;
  try {
    status = manager.initialStatus(value);
  } catch (thrown) {
    return refuse(raw, ["spec"], `the manager's initialStatus refused it: ${textOf(thrown)}`);
  }
  const initial =
    status instanceof Promise
      ? { refused: "the manager's initialStatus must return its value, not a promise" }
      : canonical(status, "the status that initialStatus returned", LIMITS.status);
  if ("refused" in initial) return refuse(raw, ["spec"], initial.refused);
  return {
    resourceManager: manifest.resourceManager,
    key: manifest.key,
    spec: spec.text,
    specHash: fingerprintText(spec.text),
    initialStatus: initial.text,
    labels: manifest.labels ?? {},
    dependsOn: manifest.dependsOn ?? [],
    ...(manifest.prune === undefined ? {} : { prune: manifest.prune }),
    ...(manifest.suspend === undefined ? {} : { suspend: manifest.suspend }),
    place: raw.place,
  };
}

function canonical(
  value: unknown,
  what: string,
  limit: number,
): { text: string } | { refused: string } {
  try {
    const text = canonicalJson(value ?? null);
    // A character takes at most three bytes, so short texts need no count.
    const bytes = text.length * 3 <= limit ? 0 : byteLength(text);
    if (bytes <= limit) return { text };
    return { refused: `${what} has ${bytes} bytes; at most ${limit} are allowed` };
  } catch (thrown) {
    if (thrown instanceof RangeError) return { refused: `${what} is nested too deeply` };
    if (!(thrown instanceof PiWorkflowsError)) return { refused: `${what}: ${textOf(thrown)}` };
    return { refused: thrown.message };
  }
}

function refuse(raw: RawManifest, path: string[], message: string): { problems: Problem[] } {
  return { problems: [problemOf(raw, { path, message, of: "value" })] };
}

function problemOf(raw: RawManifest, { path, message, of }: Issue): Problem {
  return { ...raw.at(path, of), path: formatPath(path), message };
}
