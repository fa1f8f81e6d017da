import type { Json } from "../model/canonical.ts";
import { SHORTEST_SECRET } from "../model/secret-text.ts";
import { enter, isSecretHere, parseSecretPaths, type SecretPaths } from "./path.ts";

/**
 * The texts and numbers that stand at the secret paths of a spec, as they may be repeated elsewhere:
 * as they are and as JSON writes them inside a text, longest first. Values shorter than four
 * characters, and those that are no text or number, are left out: they would mask half of any prose.
 */
export function secretValues(spec: Json, secretPaths: readonly string[]): string[] {
  if (secretPaths.length === 0) return [];
  const found = new Set<string>();
  collect(spec, parseSecretPaths(secretPaths), found);
  return [...found].sort((a, b) => b.length - a.length);
}

function collect(value: Json, secrets: SecretPaths, found: Set<string>): void {
  if (secrets.length === 0) return;
  if (isSecretHere(secrets, value)) return collectAll(value, found);
  if (value === null || typeof value !== "object") return;
  if (Array.isArray(value)) {
    const inside = enter(secrets, { kind: "item" });
    for (const item of value) collect(item, inside, found);
    return;
  }
  for (const [name, member] of Object.entries(value)) {
    collect(member, enter(secrets, { kind: "member", name }), found);
  }
}

function collectAll(value: Json, found: Set<string>): void {
  if (typeof value === "string" || typeof value === "number") {
    const text = String(value);
    if (text.length < SHORTEST_SECRET) return;
    found.add(text).add(JSON.stringify(text).slice(1, -1));
  } else if (value !== null && typeof value === "object") {
    for (const member of Object.values(value)) collectAll(member, found);
  }
}
