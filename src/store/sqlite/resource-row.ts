import type { Condition } from "../../model/condition.ts";
import type {
  ManagedResource,
  Origin,
  Owner,
  ResourceSummary,
  StoredResource,
} from "../../model/resource.ts";

import { linkOf, type LinkColumns } from "./runs/run-row.ts";

/** A row of `resource`. */
export type ResourceRow = {
  id: number;
  uid: string;
  lane: number;
  key: string;
  state: "live" | "removed";
  resource_version: number;
  generation: number;
  body_id: number;
  spec_hash: string;
  deletion_at: number | null;
  finalizers: string;
  labels: string;
  depends_on: string;
  owner_kind: Owner["kind"];
  owner_name: string;
  file: string | null;
  origin: string | null;
  prunable: 0 | 1;
  suspended: 0 | 1;
  observed_generation: number;
  conditions: string;
  status: string;
  ready_generation: number | null;
  held_generation: number | null;
  created_at: number;
  updated_at: number;
  removed_by: string | null;
  /** Row id of the run that it asked for last. */
  current_run: number | null;
};

/** The columns of a ResourceRow, for a query in which the table is called `r`. */
export const RESOURCE_COLUMNS = `r.id, r.uid, r.lane, r.key, r.state, r.resource_version,
  r.generation, r.body_id, r.spec_hash, r.deletion_at, r.finalizers, r.labels, r.depends_on,
  r.owner_kind, r.owner_name, r.file, r.origin, r.prunable, r.suspended, r.observed_generation,
  r.conditions, r.status, r.ready_generation, r.held_generation, r.created_at, r.updated_at,
  r.removed_by, r.current_run`;

/** A lane's names. */
export type LaneNames = { project: string; manager: string };

/** The columns that managers see. */
export type ManagedRow = Pick<
  ResourceRow,
  | "uid"
  | "key"
  | "resource_version"
  | "generation"
  | "deletion_at"
  | "finalizers"
  | "observed_generation"
  | "conditions"
  | "status"
> &
  LinkColumns;

type MetadataRow = Omit<
  ManagedRow,
  "observed_generation" | "conditions" | "status" | keyof LinkColumns
>;

export function metadataOf(row: MetadataRow, manager: string): ManagedResource["metadata"] {
  return {
    uid: row.uid,
    resourceManager: manager,
    key: row.key,
    resourceVersion: row.resource_version,
    generation: row.generation,
    ...(row.deletion_at === null
      ? {}
      : { deletionTimestamp: new Date(row.deletion_at).toISOString() }),
    finalizers: parseList(row.finalizers),
  };
}

export function managedResource(row: ManagedRow, manager: string, body: string): ManagedResource {
  return {
    metadata: metadataOf(row, manager),
    spec: JSON.parse(body) as unknown,
    status: {
      observedGeneration: row.observed_generation,
      conditions: conditionsOf(row),
      ...linkOf(row),
      resourceManagerStatus: JSON.parse(row.status) as unknown,
    },
  };
}

export function storedResource(
  row: ResourceRow & LaneNames & LinkColumns & { body: string },
): StoredResource {
  return { ...common(row), resource: managedResource(row, row.manager, row.body) };
}

export function resourceSummary(row: ResourceRow & LaneNames & LinkColumns): ResourceSummary {
  return {
    ...common(row),
    metadata: metadataOf(row, row.manager),
    observedGeneration: row.observed_generation,
    conditions: conditionsOf(row),
    ...linkOf(row),
  };
}

function common(row: ResourceRow & LaneNames): Omit<StoredResource, "resource"> {
  const origin = originOf(row);
  return {
    project: row.project,
    specHash: row.spec_hash,
    labels: parseLabels(row.labels),
    dependsOn: parseList(row.depends_on),
    owner: origin.owner,
    origin,
    prunable: row.prunable === 1,
    suspended: row.suspended === 1,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

export function originOf(
  row: Pick<ResourceRow, "owner_kind" | "owner_name" | "file" | "origin">,
): Origin {
  return {
    owner: { kind: row.owner_kind, name: row.owner_name },
    ...(row.file === null ? {} : { file: row.file }),
    ...(row.origin === null ? {} : (JSON.parse(row.origin) as Omit<Origin, "owner" | "file">)),
  };
}

/** The columns of an origin: owner and file apart, so that plans and filters need no parsing. */
export function originColumns(
  origin: Origin,
): Pick<ResourceRow, "owner_kind" | "owner_name" | "file" | "origin"> {
  const { owner, file, ...rest } = origin;
  const text = JSON.stringify(rest);
  return {
    owner_kind: owner.kind,
    owner_name: owner.name,
    file: file ?? null,
    origin: text === "{}" ? null : text,
  };
}

export function conditionsOf(row: Pick<ResourceRow, "conditions">): Condition[] {
  return row.conditions === "[]" ? [] : (JSON.parse(row.conditions) as Condition[]);
}

// Most lists are empty, and parsing them is most of the cost of a snapshot.
export function parseList(text: string): string[] {
  return text === "[]" ? [] : (JSON.parse(text) as string[]);
}

export function parseLabels(text: string): Record<string, string> {
  return text === "{}" ? {} : (JSON.parse(text) as Record<string, string>);
}
