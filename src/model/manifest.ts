import { z } from "zod";
import { LIMITS } from "./limits.ts";
import type { Place, Problem } from "./problem.ts";
import type { SourceDefinition } from "./source.ts";

export { formatProblem, type Place, type Problem } from "./problem.ts";

const label = z.string().max(LIMITS.label);

/** A name of a resource manager: lower case, as in a file name. */
export const managerName = z
  .string()
  .max(LIMITS.name)
  .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/, "must be lower-case letters, digits and dashes");

/** A resource key: any printable text without control characters. */
export const resourceKey = z
  .string()
  .min(1)
  .max(LIMITS.key)
  .regex(/^[^\p{C}]+$/u, "must not hold control characters")
  .refine((key) => key.trim() === key, "must not begin or end with white space");

/**
 * One resource spec as it stands in a file (design, section 4). What `spec` must be is for the
 * manager's schema to say.
 */
export const manifestSchema = z.strictObject({
  $schema: z.string().optional(),
  resourceManager: managerName,
  key: resourceKey,
  spec: z.unknown().refine((spec) => spec !== undefined, "is missing"),
  labels: z
    .record(z.string().min(1).max(LIMITS.label), label)
    .refine((labels) => Object.keys(labels).length <= LIMITS.labels, `at most ${LIMITS.labels}`)
    .optional(),
  /** Resources that must be ready first, each `MANAGER/KEY`. */
  dependsOn: z.array(z.string().min(3)).max(LIMITS.dependsOn).optional(),
  /** False protects the resource from being pruned; lifted only by a manifest that says true. */
  prune: z.boolean().optional(),
  /** True keeps the resource from being reconciled. */
  suspend: z.boolean().optional(),
});

export type Manifest = z.infer<typeof manifestSchema>;

/** What one valid manifest asks for, ready to be planned. */
export type Desired = {
  resourceManager: string;
  key: string;
  /** Canonical JSON of the spec after the schema's defaults. */
  spec: string;
  specHash: string;
  /** Canonical JSON of `initialStatus(spec)`. */
  initialStatus: string;
  labels: Record<string, string>;
  dependsOn: string[];
  prune?: boolean;
  suspend?: boolean;
  place: Place;
};

/** Everything that a set of spec files means: the input of a plan. */
export type LoadedSpecs = {
  desired: Desired[];
  managers: ResolvedManager[];
  problems: Problem[];
  /** Files that were read, relative to the project, with the SHA-256 of their bytes. */
  files: { file: string; sha256: string }[];
};

/** A definition as plain data: what the server needs to know of it without running it. */
export type ResolvedManager = {
  name: string;
  /** Absolute path of the definition file. */
  path: string;
  scope: "project" | "global" | "hosted";
  /** SHA-256 over the bundle and every local file that went in. */
  digest: string;
  /** Absolute paths of those files, with the SHA-256 of their bytes. */
  inputs: { path: string; sha256: string }[];
  /** JSON Schema (2020-12) of the spec, where the definition gives one. */
  specSchema?: JsonSchema;
  /** Of the spec as it is stored, with defaults and transforms applied, where that differs. */
  storedSchema?: JsonSchema;
  statusSchema?: JsonSchema;
  /** Field paths of the spec that the schema marks secret: `token`, `users[].password`. */
  secretPaths: string[];
  sources: SourceDefinition[];
  deadlineMs: number;
  maxConcurrent: number;
};
export type JsonSchema = Record<string, unknown>;
