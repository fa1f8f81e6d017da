import { z } from "zod";
import { LIMITS } from "./limits.ts";
import { managerName } from "./manifest.ts";

/** A name of a webhook: the last part of its path. */
export const webhookName = z
  .string()
  .max(LIMITS.name)
  .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/, "must be lower-case letters, digits and dashes");

/**
 * A source of a resource manager as plain data: what the server needs to know of it without running
 * the definition. Where `mapped` is true, a function of the definition says which keys to wake.
 */
export const sourceDefinitionSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("every"), everyMs: z.int().min(1).max(LIMITS.maxRequeueMs) }),
  z.strictObject({
    kind: z.literal("cron"),
    expression: z.string().min(1).max(LIMITS.name),
    /** An IANA name; absent: the time zone of the server's machine. */
    timezone: z.string().min(1).max(LIMITS.name).exactOptional(),
  }),
  z.strictObject({
    kind: z.literal("files"),
    /** Relative to the project. */
    globs: z.array(z.string().min(1).max(LIMITS.key)).min(1).max(LIMITS.globs),
    mapped: z.boolean(),
  }),
  z.strictObject({ kind: z.literal("watch"), manager: managerName, mapped: z.boolean() }),
  z.strictObject({
    kind: z.literal("webhook"),
    name: webhookName,
    /** The header that tells one delivery from the next, in lower case. */
    deliveryHeader: z
      .string()
      .max(LIMITS.name)
      .regex(/^[a-z0-9-]+$/),
  }),
]);

export type SourceDefinition = z.infer<typeof sourceDefinitionSchema>;

/** One kind of source. */
export type SourceOf<Kind extends SourceDefinition["kind"]> = Extract<
  SourceDefinition,
  { kind: Kind }
>;
