import type { JsonSchema } from "../../model/manifest.ts";

/**
 * The parameters of the tool that takes the answer: an object with it as `result`, since models call
 * tools with objects only. References within the schema are made to point to where it now stands.
 */
export function answerParameters(schema: JsonSchema): JsonSchema {
  const { $schema: _dialect, $id: _id, ...answer } = schema;
  return {
    type: "object",
    properties: { result: rebased(answer) },
    required: ["result"],
    additionalProperties: false,
  };
}

/** Members whose content is data, not schema. */
const DATA = new Set(["const", "enum", "default", "examples"]);

function rebased(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(rebased);
  if (typeof node !== "object" || node === null) return node;
  return Object.fromEntries(
    Object.entries(node).map(([name, value]) => {
      if (name === "$ref" && typeof value === "string") return [name, rebasedReference(value)];
      return [name, DATA.has(name) ? value : rebased(value)];
    }),
  );
}

function rebasedReference(reference: string): string {
  return reference.startsWith("#") ? `#/properties/result${reference.slice(1)}` : reference;
}
