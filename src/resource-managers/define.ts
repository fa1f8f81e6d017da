import type { z } from "zod";
import type { JsonSchema, Manifest } from "../model/manifest.ts";
import type { ManagedResource } from "../model/resource.ts";
import type { ReconcileContext } from "./context.ts";
import type { ReconcileResult } from "./results.ts";
import { rememberSite, type SITE } from "./site.ts";
import type { Source } from "./sources.ts";

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
  sources?: Source[];
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
  // Not enumerable, so that a spread or a comparison of manifests does not see it.
  Object.defineProperty(declared, RESOURCE, { value: true });
  return rememberSite(declared) as unknown as DeclaredResource;
}

export function isResourceManager(value: unknown): value is ResourceManager {
  return typeof value === "object" && value !== null && MANAGER in value;
}
