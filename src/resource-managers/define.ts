import type { z } from "zod";
import type { JsonSchema, Manifest, SourceDefinition } from "../model/manifest.ts";
import type { ManagedResource } from "../model/resource.ts";
import type { ReconcileContext } from "./context.ts";
import type { ReconcileResult } from "./results.ts";

/** A zod schema or a JSON Schema object. */
export type SchemaLike<T> = z.ZodType<T> | JsonSchema;

/** What the author of a resource manager writes. */
export type ResourceManagerDefinition<TSpec, TStatus> = {
  /** Must equal the file's name before `.resource-manager.ts`. */
  name: string;
  /** Validates and completes specs before anything is stored. */
  spec?: SchemaLike<TSpec>;
  /** Validates what passes write. */
  status?: SchemaLike<TStatus>;
  /** The status of a new resource; computed where the spec file is loaded. */
  initialStatus(spec: TSpec): TStatus;
  /** Passes of this manager at once. Default 4. */
  maxConcurrent?: number;
  /** A pass without an answer by then is killed. Milliseconds, default 60,000, at most 600,000. */
  deadlineMs?: number;
  /** What wakes resources besides their own changes. */
  sources?: SourceDefinition[];
  /** One bounded pass: look at the outside world, take one step, say when to look again. */
  reconcile(
    ctx: ReconcileContext<TStatus>,
    resource: ManagedResource<TSpec, TStatus>,
  ): Promise<ReconcileResult<TStatus>> | ReconcileResult<TStatus>;
};

const MANAGER = Symbol.for("pi-workflows.ResourceManager");
const RESOURCE = Symbol.for("pi-workflows.Resource");

export type ResourceManager<TSpec = unknown, TStatus = unknown> = ResourceManagerDefinition<
  TSpec,
  TStatus
> & {
  readonly [MANAGER]: true;
};

/** Declares a resource manager; export it as the default of `NAME.resource-manager.ts`. */
export function defineResourceManager<TSpec, TStatus>(
  definition: ResourceManagerDefinition<TSpec, TStatus>,
): ResourceManager<TSpec, TStatus> {
  return Object.freeze({ ...definition, [MANAGER]: true as const });
}

/** A spec as a TypeScript file declares it. */
export type ResourceInput<TSpec> = Omit<Manifest, "$schema" | "resourceManager" | "spec"> & {
  spec: TSpec;
};
export type DeclaredResource = Manifest & { readonly [RESOURCE]: true; readonly [SITE]: Error };

const SITE = Symbol.for("pi-workflows.Resource.site");

/**
 * The spec type of each manager by name; empty until `pi-workflows types` writes the declarations
 * that fill it, so that `defineResource("NAME", …)` is checked without importing the definition.
 */
// oxlint-disable-next-line typescript/no-empty-interface -- declarations merge only into interfaces
export interface ResourceSpecs {}

/**
 * Declares one resource; export it (or an array) as the default of `NAME.resource.ts`.
 * `manager` is the definition, which types the spec, or the name of a manager in `ResourceSpecs`,
 * which types it too, or any other name, which leaves it unchecked.
 */
export function defineResource<TName extends keyof ResourceSpecs>(
  manager: TName,
  input: ResourceInput<ResourceSpecs[TName]>,
): DeclaredResource;
export function defineResource<TSpec>(
  manager: Pick<ResourceManagerDefinition<TSpec, unknown>, "name" | "initialStatus">,
  input: ResourceInput<NoInfer<TSpec>>,
): DeclaredResource;
export function defineResource<TName extends string>(
  manager: TName extends keyof ResourceSpecs ? never : TName,
  input: ResourceInput<unknown>,
): DeclaredResource;
export function defineResource(
  manager: { name: string } | string,
  input: ResourceInput<unknown>,
): DeclaredResource {
  const resourceManager = typeof manager === "string" ? manager : manager.name;
  const declared = { resourceManager, ...input };
  // Not enumerable, so that a spread or a comparison of manifests does not see them. The error's
  // stack says where the resource is declared; V8 formats it only if it is read.
  Object.defineProperty(declared, RESOURCE, { value: true });
  Object.defineProperty(declared, SITE, { value: new Error("declared here") });
  return declared as unknown as DeclaredResource;
}

export function isResourceManager(value: unknown): value is ResourceManager {
  return typeof value === "object" && value !== null && MANAGER in value;
}

/** The stack of the `defineResource` call that made `value`, where one did. */
export function declarationSite(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || !(SITE in value)) return undefined;
  const site: unknown = value[SITE];
  return site instanceof Error ? site.stack : undefined;
}

const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/**
 * A source that wakes every resource of the manager at an interval: `every("30s")`, `every("5m")`,
 * `every("1h")`, `every("1d")`.
 * @throws RangeError when the interval is not a positive number with one of these units.
 */
export function every(interval: string): SourceDefinition {
  const match = /^(\d+)(s|m|h|d)$/.exec(interval);
  const everyMs = Number(match?.[1]) * (UNITS[match?.[2] ?? ""] ?? Number.NaN);
  if (!(everyMs > 0)) {
    throw new RangeError(
      `every(${JSON.stringify(interval)}): use a positive whole number and s, m, h or d, such as "5m"`,
    );
  }
  return { kind: "every", everyMs };
}
