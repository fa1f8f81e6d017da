import type { Readiness } from "../model/readiness.ts";
import type { ResourceSummary, StoredResource } from "../model/resource.ts";
import type { Colors } from "./output.ts";

export { readinessOf, wordOf, type Readiness } from "../model/readiness.ts";

/** The same in its colour. */
export function paintReady(ready: Readiness["ready"], colors: Colors): string {
  if (ready === "True") return colors.green(ready);
  return ready === "False" ? colors.red(ready) : colors.yellow(ready);
}

/** A whole resource as lists know it. */
export function summaryOf(stored: StoredResource): ResourceSummary {
  const { resource, ...rest } = stored;
  return {
    ...rest,
    metadata: resource.metadata,
    observedGeneration: resource.status.observedGeneration,
    conditions: resource.status.conditions,
  };
}
