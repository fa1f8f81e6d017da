import type { ResourceSummary } from "../model/resource.ts";
import { printable } from "../model/text.ts";
import { table } from "./columns.ts";
import { describeOrigin, describeOwner } from "./origin.ts";
import type { Colors } from "./output.ts";
import { paintReady, readinessOf } from "./readiness.ts";
import { age } from "./time.ts";

/** How a list of resources is laid out. */
export type TableStyle = { wide: boolean; projects: boolean; colors: Colors; now: number };

const HEADING = ["MANAGER", "KEY", "READY", "STATUS", "GENERATION", "AGE"];
const WIDE_HEADING = ["OBSERVED", "VERSION", "OWNER", "FROM", "MESSAGE"];

/** The table that `get` prints. */
export function resourceTable(items: readonly ResourceSummary[], style: TableStyle): string {
  const rows = items.map((item) => resourceRow(item, style));
  return table(resourceHeading(style), rows, style.colors.bold);
}

/** The titles of its columns. */
export function resourceHeading(style: TableStyle): string[] {
  return [...(style.projects ? ["PROJECT"] : []), ...HEADING, ...(style.wide ? WIDE_HEADING : [])];
}

/** The cells of one of its rows. */
export function resourceRow(item: ResourceSummary, style: TableStyle): string[] {
  const { metadata } = item;
  const { ready, reason, message } = readinessOf(item);
  const cells = [
    ...(style.projects ? [printable(item.project)] : []),
    metadata.resourceManager,
    printable(metadata.key),
    paintReady(ready, style.colors),
    printable(reason),
    String(metadata.generation),
    age(style.now - item.createdAt),
  ];
  if (!style.wide) return cells;
  return [
    ...cells,
    String(item.observedGeneration),
    String(metadata.resourceVersion),
    printable(describeOwner(item)),
    printable(describeOrigin(item.origin)),
    printable(message ?? ""),
  ];
}
