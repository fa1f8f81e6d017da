import type { FieldChange } from "../model/plan.ts";
import type { Owner } from "../model/resource.ts";

const FIELDS_NAMED = 5;

/** Who owns something, for people: `sync set main`, `apply set default`, `onur, a person`. */
export function describeOwner(owner: Owner): string {
  return owner.kind === "person" ? `${owner.name}, a person` : `${owner.kind} set ${owner.name}`;
}

/** One sentence per field, the first few by name. */
export function describeChanges(changes: readonly FieldChange[]): string[] {
  const named = changes.slice(0, FIELDS_NAMED).map(describeChange);
  const rest = changes.length - named.length;
  return rest > 0 ? [...named, `${rest} more field${rest === 1 ? "" : "s"} changed`] : named;
}

/** Of an action's reasons those that are not about its fields, for output that lists the fields. */
export function otherReasons(
  reasons: readonly string[],
  changes: readonly { path: string }[],
): string[] {
  return reasons.slice(Math.min(changes.length, FIELDS_NAMED + 1));
}

function describeChange({ path, before, after }: FieldChange): string {
  if (path.endsWith("[]")) return `${path.slice(0, -2)} is in another order`;
  if (before === undefined) return `${path} was added`;
  return after === undefined ? `${path} was removed` : `${path} changed`;
}
