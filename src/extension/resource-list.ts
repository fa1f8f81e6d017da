import { readinessOf } from "../model/readiness.ts";
import { describeRef, type ResourceSummary, type StoredResource } from "../model/resource.ts";
import { age } from "../model/span.ts";
import { printable } from "../model/text.ts";
import type { Client } from "../server/protocol.ts";
import type { Link } from "./link.ts";
import type { Cell, Column, Tone, View } from "./view.ts";

export type ListWish = {
  /** Absent: of every project. */
  project?: string;
  manager?: string;
  notReady?: boolean;
};

const COLUMNS: readonly Column[] = [
  { title: "PROJECT", least: 12, drop: 1 },
  { title: "MANAGER", least: 10 },
  { title: "KEY", least: 24 },
  { title: "READY" },
  { title: "STATUS", least: 12 },
  { title: "GENERATION", drop: 4 },
  { title: "AGE", drop: 3 },
  { title: "MESSAGE", least: 20, drop: 2 },
];

/** Every resource that is wished for. */
export function listResources(
  link: Link,
  wish: ListWish,
  start: boolean,
): Promise<ResourceSummary[]> {
  return link.ask((client) => allPages(client, wish), start);
}

async function allPages(client: Client, wish: ListWish): Promise<ResourceSummary[]> {
  const all: ResourceSummary[] = [];
  let after: string | undefined;
  do {
    const page = await client.list(after === undefined ? wish : { ...wish, after });
    all.push(...page.items);
    after = page.next;
  } while (after !== undefined);
  return all;
}

/** A list as a table; what it is a list of is said where it is empty. */
export function listView(items: readonly ResourceSummary[], wish: ListWish, now: number): View {
  if (items.length === 0) return { text: nothing(wish) };
  const rows = items.map((item) => rowOf(item, wish.project === undefined, now));
  return { table: { columns: [...COLUMNS], rows } };
}

function rowOf(item: ResourceSummary, withProject: boolean, now: number): Cell[] {
  const { metadata, project, createdAt } = item;
  const { ready, reason, message } = readinessOf(item);
  const tone: Tone = ready === "True" ? "good" : ready === "False" ? "bad" : "warn";
  return [
    withProject ? printable(project) : "",
    metadata.resourceManager,
    printable(metadata.key),
    { text: ready, tone },
    printable(reason),
    String(metadata.generation),
    age(now - createdAt),
    ready === "True" ? "" : printable(message ?? ""),
  ];
}

function nothing({ project, manager, notReady }: ListWish): string {
  if (notReady) return "Nothing is unready.";
  if (project === undefined) return "There are no resources.";
  const what = manager === undefined ? "no resources" : `no resources of ${printable(manager)}`;
  return (
    `There are ${what} in ${printable(project)}. /resource-manager apply PATH makes those that a ` +
    "spec file declares."
  );
}

/** One resource's spec and status, secrets masked by who read it. */
export function resourceView({ resource, ...stored }: StoredResource): View {
  const { metadata, spec, status } = resource;
  const { observedGeneration, conditions } = status;
  const { ready, reason, message } = readinessOf({
    ...stored,
    metadata,
    observedGeneration,
    conditions,
  });
  const because = message === undefined ? reason : `${reason}: ${message}`;
  const lines = [
    `ready ${ready} (${because}), generation ${metadata.generation}`,
    "Spec",
    ...indented(spec),
    "Status",
    ...indented(status.resourceManagerStatus),
  ];
  return { title: printable(describeRef(metadata)), text: lines.join("\n") };
}

function indented(value: unknown): string[] {
  return JSON.stringify(value ?? null, null, 2)
    .split("\n")
    .map((line) => `  ${line}`);
}
