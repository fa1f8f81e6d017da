import { z } from "zod";
import { LIMITS } from "../model/limits.ts";

// Query strings hold text only, so what is not text is read back from it; in-process callers pass
// the values themselves.
export const flag = z.union([
  z.boolean(),
  z.enum(["true", "false"]).transform((text) => text === "true"),
]);
export const count = z.coerce.number().int().min(1).max(LIMITS.batch);
export const cursor = z.coerce.number().int().min(0);
export const jsonText = z
  .string()
  .max(64 * 1024)
  .transform((text, context): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      context.addIssue({ code: "custom", message: "must be JSON" });
      return z.NEVER;
    }
  });

export const project = z.string().min(1).max(4_096);
export const uid = z.string().min(1).max(64);
export const sha256 = z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in hexadecimal");
export const jsonSchema = z.record(z.string(), z.unknown());
