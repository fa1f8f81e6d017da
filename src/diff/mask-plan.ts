import type { Json } from "../model/canonical.ts";
import type { Desired, Problem } from "../model/manifest.ts";
import type { FieldChange, Plan, PlanAction } from "../model/plan.ts";
import { redactText } from "../model/redact.ts";
import { NAMING_FIELDS } from "./fields.ts";
import { maskAt, Masks } from "./mask.ts";
import { enter, parsePath, parseSecretPaths } from "./path.ts";
import type { SecretPaths } from "./path.ts";
import type { ShownAction, ShownChange, ShownPlan } from "./schema.ts";

export type MaskOptions = {
  /** True shows secrets: what `--show-secrets` asks for. */
  reveal?: boolean;
};

/** How the parts of one plan are masked. */
type Masking = {
  masks: Masks;
  reveal: boolean;
  secretsOf(manager: string): SecretPaths;
};

/**
 * The plan as it may be shown: secrets masked in the data, so that no renderer can forget to, and
 * bodies only where they change. Masks are numbered over the whole plan.
 * @param secretPaths Secret paths of each manager's spec, as `secretPathsOf` gives them.
 */
export function maskPlan(
  plan: Plan,
  secretPaths: ReadonlyMap<string, readonly string[]>,
  { reveal = false }: MaskOptions = {},
): ShownPlan {
  const parsed = new Map([...secretPaths].map(([name, paths]) => [name, parseSecretPaths(paths)]));
  const masking: Masking = {
    masks: new Masks(),
    reveal,
    secretsOf: (manager) => parsed.get(manager) ?? [],
  };
  const { version, id, project, owner, storeRevision, counts, prune } = plan;
  const actions = plan.actions.map((action) => showAction(action, masking));
  // Last, when the values that must not stand in a message are known.
  const problems = plan.problems.map((problem) => showProblem(problem, parsed, masking));
  return { version, id, project, owner, storeRevision, counts, prune, problems, actions };
}

function showAction(action: PlanAction, masking: Masking): ShownAction {
  const { kind, resourceManager, key, current, desired, changes, owner } = action;
  const secrets = masking.secretsOf(resourceManager);
  const shown: ShownAction = {
    kind,
    resourceManager,
    key,
    reasons: masking.reveal ? action.reasons : action.reasons.map(redactText),
  };
  if (current) {
    const { uid, resourceVersion, generation, specHash, file, spec } = current;
    shown.current = { uid, resourceVersion, generation, specHash };
    if (file !== undefined) shown.current.file = file;
    if (spec !== undefined) shown.current.spec = showSpec(spec, secrets, masking);
  }
  if (desired) shown.desired = showDesired(kind, desired, secrets, masking);
  if (changes) shown.changes = changes.map((change) => showChange(change, secrets, masking));
  if (owner) shown.owner = owner;
  return shown;
}

function showDesired(
  kind: PlanAction["kind"],
  desired: Desired,
  secrets: SecretPaths,
  masking: Masking,
): NonNullable<ShownAction["desired"]> {
  const { place, specHash, labels, dependsOn, prune, suspend } = desired;
  const shown: NonNullable<ShownAction["desired"]> = {
    ...pick(place),
    specHash,
    labels,
    dependsOn,
  };
  if (prune !== undefined) shown.prune = prune;
  if (suspend !== undefined) shown.suspend = suspend;
  if (kind === "create" || kind === "update") {
    shown.spec = showSpec(desired.spec, secrets, masking);
  }
  return shown;
}

function pick({ file, line, column }: Desired["place"]): Desired["place"] {
  return { file, line, column };
}

function showSpec(text: string, secrets: SecretPaths, { masks, reveal }: Masking): Json {
  const spec = JSON.parse(text) as Json;
  return reveal ? spec : maskAt(spec, secrets, masks);
}

function showChange(change: FieldChange, secrets: SecretPaths, masking: Masking): ShownChange {
  if (masking.reveal) return change;
  const { path, before, after } = change;
  const here = secretsAt(path, secrets);
  const show = (value: Json): Json =>
    here === "whole" ? masking.masks.of(value) : maskAt(value, here, masking.masks);
  const shown: ShownChange = { path: redactText(path) };
  if (before !== undefined) shown.before = show(before);
  if (after !== undefined) shown.after = show(after);
  return shown;
}

/** The secret paths as seen from a change's path; "whole" where it lies in a secret part. */
function secretsAt(path: string, secrets: SecretPaths): SecretPaths | "whole" {
  if (secrets.length === 0) return secrets;
  const steps = parsePath(path);
  if (!steps) return "whole";
  const [first, ...inside] = steps;
  if (first?.kind !== "member" || first.name !== "spec") return [];
  let here = secrets;
  for (const step of inside) {
    if (here.some((rest) => rest.length === 0)) return "whole";
    here = enter(here, step);
  }
  if (!path.endsWith("[]")) return here;
  // The order of items: its values are their names.
  const named = NAMING_FIELDS.some((name) => enter(here, { kind: "member", name }).length > 0);
  return named || here.some((rest) => rest.length === 0) ? "whole" : [];
}

function showProblem(
  problem: Problem,
  secrets: ReadonlyMap<string, SecretPaths>,
  { masks, reveal }: Masking,
): ShownPlan["problems"][number] {
  const { file, line, column, path, message, frame } = problem;
  if (reveal)
    return { file, line, column, path, message, ...(frame === undefined ? {} : { frame }) };
  const shown = { file, line, column, path, message: masks.inText(message) };
  if (frame === undefined) return shown;
  const paths = [...secrets.values()].flat();
  // Which part of a line of code is a text can't be told from a few lines of it.
  if (paths.length > 0 && !file.endsWith(".json")) return shown;
  return { ...shown, frame: hideValues(masks.inText(frame), paths) };
}

// A text, up to the end of its line where nothing closes it, with the colon that makes it a name.
const TEXT = /(["'`])(?:\\.|(?!\1).)*(?:\1(?<colon>\s*:)?|$)/gm;
const NUMBER = /(?<=[:,=([|]\s*)-?\d[\d_.]{3,}/g;

// The lines around a mistake may hold a secret of a file that never got as far as having values. A
// secret list or object has lines that do not name it, so where anything is secret no text is shown.
function hideValues(frame: string, paths: SecretPaths): string {
  if (paths.length === 0) return frame;
  const any = memberNames(paths)
    .map((name) => name.replace(/[^\w-]/g, "\\$&"))
    .join("|");
  return frame
    .replace(new RegExp(`(["']?\\b(?:${any})["']?\\s*:)(?!\\s*[\\[{]$).+$`, "gm"), "$1 ***")
    .replace(TEXT, (text: string, ...found: unknown[]) => {
      const { colon } = found.at(-1) as { colon?: string };
      return colon === undefined ? "***" : text;
    })
    .replace(NUMBER, "***");
}

function memberNames(paths: SecretPaths): string[] {
  return paths.flatMap((path) => {
    const last = path.findLast((step) => step.kind === "member");
    return last === undefined ? [] : [last.name];
  });
}
