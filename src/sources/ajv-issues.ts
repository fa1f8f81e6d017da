import type { ErrorObject } from "ajv";
import { type Issue, notOneOf, unknownMember, wrongType } from "./issue.ts";
import type { FieldPath } from "./json-tree.ts";

/** Ajv's errors (with `verbose`) in the product's words. */
export function ajvIssues(errors: readonly ErrorObject[]): Issue[] {
  // "must match a schema in anyOf" only repeats what the branches' own errors say.
  const told = errors.filter((error) => !["if", "anyOf", "oneOf"].includes(error.keyword));
  return (told.length > 0 ? told : errors).map(translate);
}

function translate(error: ErrorObject): Issue {
  const path = pathOf(error);
  const params = error.params as Record<string, unknown>;
  switch (error.keyword) {
    case "required":
      return issue([...path, String(params["missingProperty"])], "is missing");
    case "additionalProperties":
    case "unevaluatedProperties": {
      const name = String(params["additionalProperty"] ?? params["unevaluatedProperty"]);
      const parent = error.parentSchema as { properties?: object } | undefined;
      const message = unknownMember(name, Object.keys(parent?.properties ?? {}));
      return { path: [...path, name], message, of: "name" };
    }
    case "enum":
      return issue(path, notOneOf(error.data, params["allowedValues"] as unknown[]));
    case "const":
      return issue(path, notOneOf(error.data, [params["allowedValue"]]));
    case "type":
      return issue(path, wrongType(kindOf(params["type"]), error.data));
    case "format":
      return issue(path, `must be a valid ${String(params["format"])}`);
    default:
      return issue(path, error.message ?? `does not hold: ${error.keyword}`);
  }
}

function kindOf(type: unknown): string {
  const names = [type].flat().map((name) => (name === "integer" ? "whole number" : String(name)));
  return names.join(" or ");
}

function issue(path: FieldPath, message: string): Issue {
  return { path, message, of: "value" };
}

/** Ajv's JSON pointer (RFC 6901), with item numbers as numbers. */
function pathOf(error: ErrorObject): FieldPath {
  return error.instancePath
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}
