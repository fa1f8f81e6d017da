// Shapes of credentials that must never reach a log or event, with where each is documented:
// GitHub tokens (docs.github.com, "About authentication to GitHub"), bearer and basic
// authorization headers (RFC 6750, RFC 7617), credentials in URLs (RFC 3986 section 3.2.1),
// private key blocks (RFC 7468), AWS access keys, Slack and npm tokens, "sk-" API keys.
const CREDENTIALS = [
  /\bgh[pousr]_[A-Za-z0-9]{20,}\b/g,
  /\bgithub_pat_[A-Za-z0-9_]{20,}\b/g,
  /\bglpat-[A-Za-z0-9_-]{20,}\b/g,
  /\bxox[abprs]-[A-Za-z0-9-]{10,}\b/g,
  /\bnpm_[A-Za-z0-9]{36}\b/g,
  /\bAKIA[0-9A-Z]{16}\b/g,
  /\bsk-[A-Za-z0-9_-]{20,}\b/g,
  /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\b/g,
  /(?<=:\/\/[^\s/:@]{0,256}:)[^\s/@]{1,256}(?=@)/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
];

/** Kept: the word before it. Looking back over the white space would take the square of its length. */
const AFTER_A_WORD = /\b((?:bearer|token|basic)\s{1,64})[A-Za-z0-9._~+/=-]{16,}/gi;

const MASK = "[redacted]";
const SECRET_NAMES =
  /^(?:.*[-_.])?(?:token|password|passwd|secret|authorization|cookie|api[-_]?key|private[-_]?key|credentials?)$/i;

/** `text` with everything that looks like a credential masked. */
export function redactText(text: string): string {
  let masked = text.replace(AFTER_A_WORD, `$1${MASK}`);
  for (const pattern of CREDENTIALS) masked = masked.replace(pattern, MASK);
  return masked;
}

/** A deep copy of `value` with credentials masked: by shape in strings, by name in members. */
export function redact(value: unknown): unknown {
  if (typeof value === "string") return redactText(value);
  if (Array.isArray(value)) return value.map(redact);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      typeof member === "string" && SECRET_NAMES.test(name) ? MASK : redact(member),
    ]),
  );
}
