import { canonicalJson } from "../model/canonical.ts";
import type { Json } from "../model/canonical.ts";
import type { ResolvedManager } from "../model/manifest.ts";
import { redactText } from "../model/redact.ts";
import { enter, isSecretHere, NO_SECRETS, parseSecretPaths } from "./path.ts";
import type { SecretPaths } from "./path.ts";

// Shorter ones are too common in prose to be looked for there.
const SHORTEST_IN_TEXT = 4;

/**
 * Numbered masks of one output: equal values have one number, different values different ones, so
 * that `*** (1)` to `*** (2)` shows a change and not what it is.
 */
export class Masks {
  readonly #numbers = new Map<string, number>();
  readonly #texts = new Map<string, string>();

  /** The mask of a value. */
  of(value: Json): string {
    const text = canonicalJson(value);
    const number = this.#numbers.get(text) ?? this.#numbers.size + 1;
    this.#numbers.set(text, number);
    const mask = `*** (${number})`;
    if (typeof value === "string" && value.length >= SHORTEST_IN_TEXT) this.#texts.set(value, mask);
    return mask;
  }

  /** `text` without any value masked so far, and without what looks like a credential. */
  inText(text: string): string {
    let masked = text;
    // Longest first: one secret may be part of another.
    for (const secret of [...this.#texts.keys()].sort((a, b) => b.length - a.length)) {
      masked = masked.replaceAll(secret, this.#texts.get(secret) as string);
    }
    return redactText(masked);
  }
}

/** Secret paths by manager, as masking takes them. */
export function secretPathsOf(
  managers: readonly Pick<ResolvedManager, "name" | "secretPaths">[],
): Map<string, readonly string[]> {
  return new Map(managers.map(({ name, secretPaths }) => [name, secretPaths]));
}

/** A copy of a spec with what its schema marks secret, and what looks like a credential, masked. */
export function maskValue(
  value: Json,
  secretPaths: readonly string[],
  masks: Masks = new Masks(),
): Json {
  return maskAt(value, parseSecretPaths(secretPaths), masks);
}

/** Masks a part of a spec; `secrets` are its secret paths as seen from there. */
export function maskAt(value: Json, secrets: SecretPaths, masks: Masks): Json {
  if (secrets.length > 0 && isSecretHere(secrets, value)) return masks.of(value);
  if (typeof value === "string") return redactText(value) === value ? value : masks.of(value);
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) {
    const inside = enter(secrets, { kind: "item" });
    return value.map((item) => maskAt(item, inside, masks));
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const inside = secrets.length === 0 ? NO_SECRETS : enter(secrets, { kind: "member", name });
      return [name, maskAt(member, inside, masks)];
    }),
  );
}
