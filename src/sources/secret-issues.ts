import { maskSecrets, SHORTEST_SECRET } from "../model/secret-text.ts";
import type { JsonSchema } from "../model/manifest.ts";
import type { Issue } from "./issue.ts";
import { secretPathsOf } from "./json-schema.ts";
import type { FieldPath } from "./json-tree.ts";
import { leadsTo, valuesAt } from "./secret-path.ts";

/** What the words of issue.ts say of the value that they found, but for its mere kind. */
const FOUND = /, not (?!null\b|an (?:object|array)\b)(?:"(?:[^"\\]|\\.)*"|[^";]+)/g;

/** The issues without what they repeat of fields that the schema marks secret. */
export function withoutSecrets(
  issues: Issue[],
  value: unknown,
  schema: JsonSchema | undefined,
): Issue[] {
  const secretPaths = secretPathsOf(schema);
  if (secretPaths.length === 0) return issues;
  // Authors' own messages may say anything of a value, also of another field's.
  const secrets = secretPaths
    .flatMap((secret) => valuesAt(value, secret))
    .filter((text) => text.length >= SHORTEST_SECRET)
    .sort((left, right) => right.length - left.length);
  const isSecret = (path: FieldPath) => secretPaths.some((secret) => leadsTo(secret, path));
  return issues.map((issue) => {
    const { path, message } = issue;
    const shown = isSecret(path) ? message.replace(FOUND, "") : message;
    return { ...issue, message: maskSecrets(shown, secrets) };
  });
}
