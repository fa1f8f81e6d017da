import { z } from "zod";
import type { JsonSchema } from "../model/manifest.ts";

/** `schema` as JSON Schema of what is written; undefined where it can't be said in it. */
export function jsonSchemaOf(schema: z.ZodType): JsonSchema | undefined {
  try {
    const made = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
    const { $schema: _dialect, ...rest } = JSON.parse(JSON.stringify(made)) as JsonSchema;
    return rest;
  } catch {
    return undefined;
  }
}
