import { PiWorkflowsError } from "../model/errors.ts";
import type { ManagerRecord } from "../model/batch.ts";
import {
  describeRef,
  type ResourceRef,
  type ResourceSummary,
  type StoredResource,
} from "../model/resource.ts";
import { printable } from "../model/text.ts";
import type { GenerationRecord, ListQuery, StoreReader } from "../store/store.ts";
import { describeOrigin, describeOwner } from "./origin.ts";
import { relative } from "./time.ts";

/**
 * The resource, or an error that names what is there instead.
 * @throws PiWorkflowsError NOT_FOUND
 */
export async function findResource(reader: StoreReader, ref: ResourceRef): Promise<StoredResource> {
  const stored = await reader.get(ref);
  if (stored !== undefined) return stored;
  throw await notFound(reader, ref);
}

/** Says that a resource is not there, what became of it, and what is there. */
export async function notFound(reader: StoreReader, ref: ResourceRef): Promise<PiWorkflowsError> {
  const { project, resourceManager: manager } = ref;
  if ((await reader.removed(ref)) !== undefined) return wasDeleted(ref, await reader.history(ref));
  const { items } = await reader.list({ project, manager, limit: 5 });
  const what = `${manager} ${ref.key}`;
  const hint =
    items.length > 0
      ? `There is: ${items.map(({ metadata }) => printable(metadata.key)).join(", ")}.`
      : await hintAboutManagers(reader, ref);
  return new PiWorkflowsError(
    "NOT_FOUND",
    `there is no resource ${printable(what)} in ${project}`,
    {
      hint: `${hint} List all with \`pi-workflows get -A\`.`,
    },
  );
}

/** The latest generation of a removed resource is its deletion. */
function wasDeleted(ref: ResourceRef, [deletion]: readonly GenerationRecord[]): PiWorkflowsError {
  const name = printable(describeRef(ref));
  const when = deletion === undefined ? "" : ` ${relative(deletion.at, Date.now())}`;
  const by =
    deletion === undefined
      ? ""
      : printable(`, by ${describeOwner(deletion.origin)} (${describeOrigin(deletion.origin)})`);
  return new PiWorkflowsError("NOT_FOUND", `${name} was deleted${when}${by}`, {
    hint:
      `\`pi-workflows undelete ${name}\` brings it back with its last spec; ` +
      `\`pi-workflows history ${name}\` shows which it had.`,
  });
}

async function hintAboutManagers(reader: StoreReader, ref: ResourceRef): Promise<string> {
  const managers = await reader.managers(ref.project);
  const names = managers.map((manager) => manager.name);
  if (names.includes(ref.resourceManager)) return `${ref.resourceManager} has no resources here.`;
  return names.length === 0
    ? "Nothing was applied in this project yet."
    : `This project has resources of: ${names.join(", ")}.`;
}

/** Every page of a list. */
export async function listAll(reader: StoreReader, query: ListQuery): Promise<ResourceSummary[]> {
  const all: ResourceSummary[] = [];
  let after: string | undefined;
  do {
    const page = await reader.list(after === undefined ? query : { ...query, after });
    all.push(...page.items);
    after = page.next;
  } while (after !== undefined);
  return all;
}

/** The accepted definition of a manager; absent where it was never accepted. */
export async function findManager(
  reader: StoreReader,
  ref: { project: string; resourceManager: string },
): Promise<ManagerRecord | undefined> {
  const managers = await reader.managers(ref.project);
  return managers.find((manager) => manager.name === ref.resourceManager);
}
