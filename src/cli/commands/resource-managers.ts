import type { ResourceSummary } from "../../model/resource.ts";
import { printable } from "../../model/text.ts";
import { listAll } from "../find.ts";
import type { Colors } from "../output.ts";
import { table } from "../columns.ts";
import { paintReady, readinessOf } from "../readiness.ts";
import type { Documents } from "../schemas/documents.ts";
import type { Action } from "../verb.ts";

type ManagerListing = Documents["resource-managers"]["resourceManagers"][number];

export const run: Action<{ allProjects?: boolean }> = async (cli, options) => {
  const reader = await cli.reader();
  const project = options.allProjects ? undefined : cli.project;
  const managers = new Map<string, ManagerListing>();
  for (const { project: owner, name, path } of await reader.managers(project)) {
    managers.set(`${owner}\0${name}`, { project: owner, name, path, resources: [] });
  }
  for (const item of await listAll(reader, project === undefined ? {} : { project })) {
    listingOf(managers, item).resources.push({ key: item.metadata.key, ...readinessOf(item) });
  }
  const listings = [...managers.values()];
  if (listings.length === 0) cli.output.note("No resource manager is in use yet.");
  cli.output.result({ resourceManagers: listings } satisfies Documents["resource-managers"], () =>
    listing(listings, cli.output.colors, options.allProjects === true),
  );
};

function listingOf(managers: Map<string, ManagerListing>, item: ResourceSummary): ManagerListing {
  const { project, metadata } = item;
  const name = metadata.resourceManager;
  const known = managers.get(`${project}\0${name}`) ?? { project, name, resources: [] };
  managers.set(`${project}\0${name}`, known);
  return known;
}

function listing(listings: ManagerListing[], colors: Colors, projects: boolean): string {
  if (listings.length === 0) return "";
  const heading = [
    ...(projects ? ["PROJECT"] : []),
    "MANAGER",
    "KEY",
    "READY",
    "STATUS",
    "MESSAGE",
  ];
  const rows = listings.flatMap((listing) => {
    const lead = [...(projects ? [printable(listing.project)] : []), listing.name];
    if (listing.resources.length === 0) {
      return [[...lead, colors.dim("(no resources)"), "", "", ""]];
    }
    return listing.resources.map(({ key, ready, reason, message }) => [
      ...lead,
      printable(key),
      paintReady(ready, colors),
      printable(reason),
      printable(message ?? ""),
    ]);
  });
  return table(heading, rows, colors.bold);
}
