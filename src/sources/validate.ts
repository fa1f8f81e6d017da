import { canonicalJson, fingerprintText } from "../model/canonical.ts";
import { PiWorkflowsError } from "../model/errors.ts";
import { byteLength, LIMITS } from "../model/limits.ts";
import { type Desired, type Manifest, manifestSchema, type Problem } from "../model/manifest.ts";
import { tame } from "../model/thrown.ts";
import type { LoadedDefinition } from "./definition.ts";
import type { Unusable } from "./definition-loader.ts";
import { textOf } from "./guard.ts";
import { formatPath, type Issue } from "./issue.ts";
import type { RawManifest } from "./json-spec.ts";
import { type Checked, zodSchema } from "./schema.ts";

/** The name that an unchecked manifest gives its manager; undefined where it gives none. */
export function managerNameOf(raw: RawManifest): string | undefined {
  const { value } = raw;
  try {
    const name = (value as { resourceManager?: unknown } | null | undefined)?.resourceManager;
    return typeof name === "string" ? name : undefined;
  } catch {
    // A proxy or a getter; its check says so.
    return undefined;
  }
}

const manifestCheck = zodSchema(manifestSchema);

/** Checks a manifest: first its own form, then its spec by the manager's schema. */
export async function validate(
  raw: RawManifest,
  definitionOf: (name: string) => LoadedDefinition | Unusable,
): Promise<Desired | { problems: Problem[] }> {
  let checked: Checked;
  try {
    checked = manifestCheck.check(raw.value) as Checked;
  } catch (thrown) {
    return refuse(raw, [], `can't be read: ${textOf(thrown)}`);
  }
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
  const spec = canonical(value, LIMITS.spec);
  if ("refused" in spec) return refuse(raw, ["spec"], spec.refused, spec.path);
  let status: unknown;
  try {
    status = manager.initialStatus(value);
  } catch (thrown) {
    return refuse(raw, ["spec"], `the manager's initialStatus refused it: ${textOf(thrown)}`);
  }
  if (status instanceof Promise) {
    // What it may reject with is of no interest any more.
    status.catch(() => undefined);
    return refuse(
      raw,
      ["spec"],
      "the manager's initialStatus returned a promise; it must not be async",
    );
  }
  const initial = canonical(status, LIMITS.status);
  if ("refused" in initial) {
    const path = initial.path === "" ? "" : `: ${initial.path}`;
    const message = `the status from the manager's initialStatus${path} ${initial.refused}`;
    return refuse(raw, ["spec"], message);
  }
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

type Canonical =
  | { text: string }
  /** `path` says where within the value. */
  | { refused: string; path: string };

function canonical(spec: unknown, limit: number): Canonical {
  try {
    const text = canonicalJson(spec ?? null);
    // A character takes at most three bytes, so short texts need no count.
    const bytes = text.length * 3 <= limit ? 0 : byteLength(text);
    if (bytes <= limit) return { text };
    return { refused: `has ${bytes} bytes; at most ${limit} are allowed`, path: "" };
  } catch (value) {
    const thrown = tame(value);
    if (thrown instanceof RangeError) return { refused: "is nested too deeply", path: "" };
    if (!(thrown instanceof PiWorkflowsError)) return { refused: textOf(thrown), path: "" };
    const { path, found } = thrown.details as { path: string; found: string };
    return { refused: `is ${found}, which JSON can't hold`, path };
  }
}

/** `within` is the rest of the field path, where the file's own places do not reach. */
function refuse(
  raw: RawManifest,
  path: string[],
  message: string,
  within = "",
): { problems: Problem[] } {
  const problem = problemOf(raw, { path, message, of: "value" });
  const dot = within === "" || within.startsWith("[") ? "" : ".";
  return { problems: [{ ...problem, path: problem.path + dot + within }] };
}

function problemOf(raw: RawManifest, { path, message, of }: Issue): Problem {
  return { ...raw.at(path, of), path: formatPath(path), message };
}
