import { PiWorkflowsError } from "../../model/errors.ts";
import { LIMITS } from "../../model/limits.ts";
import type { ResourceSummary } from "../../model/resource.ts";
import type { ListQuery } from "../store.ts";
import type { Connection, SqlValue } from "./connection.ts";
import { managerLanes, type LaneRow } from "./managers.ts";
import { LINK_COLUMNS, LINK_TABLES, type LinkColumns } from "./runs/run-row.ts";
import { RESOURCE_COLUMNS, resourceSummary, type ResourceRow } from "./resource-row.ts";

/** The place after which a page continues. */
type Cursor = [project: string, manager: string, key: string];

/**
 * One page of resources, lane by lane in the order of project and manager, so that each step is one
 * walk along the index of live resources. @throws BAD_REQUEST where `after` is no cursor of ours
 */
export function listResources(
  connection: Connection,
  query: ListQuery,
): { items: ResourceSummary[]; next?: string } {
  const limit = Math.max(1, Math.min(query.limit ?? LIMITS.page, LIMITS.page));
  const cursor = query.after === undefined ? undefined : decode(query.after);
  const filter = filterOf(query);
  const found: (ResourceRow & LinkColumns & LaneRow)[] = [];
  for (const lane of managerLanes(connection, query)) {
    const from = startIn(lane, cursor);
    if (from === undefined) continue;
    const rows = connection.all<ResourceRow & LinkColumns>(
      `SELECT ${RESOURCE_COLUMNS}, ${LINK_COLUMNS} FROM resource r ${LINK_TABLES}
       WHERE r.lane = ? AND r.key > ? AND r.state = 'live' ${filter.sql} ORDER BY r.key LIMIT ?`,
      lane.lane,
      from,
      ...filter.values,
      // One more than asked for tells whether there is a next page.
      limit + 1 - found.length,
    );
    found.push(...rows.map((row) => ({ ...row, ...lane })));
    if (found.length > limit) break;
  }
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return {
    items: items.map(resourceSummary),
    ...(found.length > limit && last
      ? { next: encode([last.project, last.manager, last.key]) }
      : {}),
  };
}

/** The key after which this lane is read; nothing where the cursor is past the lane. */
function startIn(lane: LaneRow, cursor: Cursor | undefined): string | undefined {
  if (!cursor) return "";
  const order = compareBytes(lane.project, cursor[0]) || compareBytes(lane.manager, cursor[1]);
  if (order === 0) return cursor[2];
  return order > 0 ? "" : undefined;
}

// As SQLite orders text: by its bytes, which for characters past U+FFFF is not JavaScript's order.
function compareBytes(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}

function filterOf(query: ListQuery): { sql: string; values: SqlValue[] } {
  const parts: string[] = [];
  const values: SqlValue[] = [];
  if (query.notReady === true) parts.push("r.ready_generation IS NOT r.generation");
  if (query.owner) {
    parts.push("r.owner_kind = ? AND r.owner_name = ?");
    values.push(query.owner.kind, query.owner.name);
  }
  for (const [key, value] of Object.entries(query.labels ?? {})) {
    parts.push("EXISTS (SELECT 1 FROM json_each(r.labels) WHERE key = ? AND value = ?)");
    values.push(key, value);
  }
  return { sql: parts.map((part) => `AND ${part}`).join(" "), values };
}

function encode(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString("base64url");
}

function decode(text: string): Cursor {
  try {
    const cursor: unknown = JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
    if (
      Array.isArray(cursor) &&
      cursor.length === 3 &&
      cursor.every((part) => typeof part === "string")
    ) {
      return cursor as unknown as Cursor;
    }
  } catch {
    // Told below, like every other text that is no cursor.
  }
  throw new PiWorkflowsError("BAD_REQUEST", "the list can't be continued from there", {
    hint: "Pass the `next` of the page before, unchanged.",
  });
}
