import { CUT } from "./limits.ts";

/** What stands where a secret value stood. */
export const SECRET_MASK = "[secret]";

/** Characters. Shorter values are no secrets worth the name, and too common in prose to look for. */
export const SHORTEST_SECRET = 4;

/**
 * `text` with every one of `secrets` masked. They are looked for as they are, in the order given:
 * longest first, since one may be part of another. Of a text that was cut, also the part of a secret
 * that is left before the cut.
 */
export function maskSecrets(text: string, secrets: readonly string[]): string {
  let masked = text;
  for (const secret of secrets) masked = masked.replaceAll(secret, SECRET_MASK);
  return masked.endsWith(CUT) ? maskCut(masked.slice(0, -CUT.length), secrets) + CUT : masked;
}

function maskCut(text: string, secrets: readonly string[]): string {
  for (const secret of secrets) {
    const longest = Math.min(secret.length - 1, text.length);
    for (let length = longest; length >= SHORTEST_SECRET; length -= 1) {
      if (text.endsWith(secret.slice(0, length))) return text.slice(0, -length) + SECRET_MASK;
    }
  }
  return text;
}

/** A deep copy of `value` with every one of `secrets` masked: in texts, numbers and member names. */
export function maskSecretsIn(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === "string") return maskSecrets(value, secrets);
  if (typeof value === "number" || typeof value === "bigint") {
    return secrets.includes(String(value)) ? SECRET_MASK : value;
  }
  if (Array.isArray(value)) return value.map((item) => maskSecretsIn(item, secrets));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      maskSecrets(name, secrets),
      maskSecretsIn(member, secrets),
    ]),
  );
}
