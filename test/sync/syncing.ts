import path from "node:path";
import { onTestFinished } from "vitest";
import { apply } from "../../src/apply/apply.ts";
import { makePlan } from "../../src/apply/make-plan.ts";
import type { StoredResource } from "../../src/model/resource.ts";
import type { SyncCondition, SyncConditionType } from "../../src/model/sync.ts";
import { resolve } from "../../src/runner/resolver.ts";
import { createServer, type Server, type ServerOptions } from "../../src/server/index.ts";
import type { Client, SyncStatus } from "../../src/server/protocol.ts";
import { makeRepository } from "../sources/git/repository.ts";
import { eventually } from "../server/server-process.ts";
import { tempFolder } from "../server/temp.ts";
import { ensureBuilt } from "../support/dist.ts";

export const ROOT = ".pi/resources";

/** Builds what loading specs takes. */
export function buildResolver(): void {
  ensureBuilt(
    "src/runner/child.ts",
    "src/runner/resolver-child.ts",
    "src/resource-managers/index.ts",
  );
}

export type Repo = ReturnType<typeof makeRepository>;

/** A repository with a definition of `widget`, whose specs have a size. */
export function widgetRepository(branch = "main"): Repo {
  const repo = makeRepository(branch);
  repo.write(".pi/resource-managers/widget.resource-manager.mjs", definition());
  repo.commit("a manager");
  return repo;
}

/** A definition that settles at once. `more` are further members. */
export function definition(more = ""): string {
  return `export default {
    [Symbol.for("pi-workflows.ResourceManager")]: true,
    name: "widget",
    spec: { type: "object", properties: { size: { type: "integer" }, text: { type: "string" } }, additionalProperties: false },
    initialStatus: () => ({}),
    ${more}
    reconcile: (ctx) => ctx.settled(),
  };\n`;
}

/** Where a widget's spec file is, relative to the repository. */
export function specFile(key: string): string {
  return `${ROOT}/${key}.resource.json`;
}

/** The text of a widget's spec file. */
export function widget(key: string, spec: object, more: object = {}): string {
  return `${JSON.stringify({ resourceManager: "widget", key, spec, ...more }, null, 2)}\n`;
}

/** Writes one widget per key, each with its size. */
export function writeWidgets(repo: Repo, sizes: Record<string, number>): void {
  for (const [key, size] of Object.entries(sizes)) {
    repo.write(specFile(key), widget(key, { size }));
  }
}

export type Synced = { server: Server; client: Client; home: string };

/** A server in this process, without a socket; it runs no passes unless asked to. */
export async function syncServer(options: ServerOptions = {}): Promise<Synced> {
  const home = options.home ?? path.join(tempFolder(), "home");
  const server = createServer({
    listen: false,
    concurrency: 0,
    globalDefinitions: path.join(home, "definitions"),
    ...options,
    home,
  });
  onTestFinished(() => server.stop());
  await server.start();
  return { server, client: server.client, home };
}

/** Enables sync for a repository and waits until its first sync is done. */
export async function enabled(
  client: Client,
  repo: { folder: string },
  settings: Omit<Parameters<Client["syncEnable"]>[0], "project"> = {},
): Promise<SyncStatus> {
  await client.syncEnable({ project: repo.folder, ...settings });
  return client.syncNow(repo.folder);
}

/** Resolves when the sync of a project has looked at a commit and rests. */
export function syncedTo(client: Client, project: string, commit: string): Promise<SyncStatus> {
  return eventually(async () => {
    const [status] = await client.syncStatus(project);
    if (status?.report.attempted?.revision.id === commit && isResting(status)) return status;
    throw new Error(`not at ${commit} yet: ${JSON.stringify(status?.report, null, 1)}`);
  });
}

function isResting({ activity }: SyncStatus): boolean {
  return activity.state === "waiting" || activity.state === "retrying";
}

export function conditionOf(status: SyncStatus, type: SyncConditionType): SyncCondition {
  const found = status.report.conditions.find((condition) => condition.type === type);
  if (!found)
    throw new Error(`no condition ${type} in ${JSON.stringify(status.report.conditions)}`);
  return found;
}

/** Sizes of the widgets that a project has, by key. */
export async function sizes(client: Client, project: string): Promise<Record<string, unknown>> {
  const { items } = await client.list({ project });
  const found: Record<string, unknown> = {};
  for (const { metadata } of items) {
    const stored = await getWidget(client, project, metadata.key);
    found[metadata.key] = (stored.resource.spec as { size: unknown }).size;
  }
  return found;
}

export async function getWidget(
  client: Client,
  project: string,
  key: string,
): Promise<StoredResource> {
  const stored = await client.get({ project, resourceManager: "widget", key });
  if (!stored) throw new Error(`there is no widget ${key}`);
  return stored;
}

/** Applies a widget as a person does, by force where asked. */
export async function applyByHand(
  client: Client,
  project: string,
  key: string,
  { spec, force = false }: { spec: object; force?: boolean },
): Promise<void> {
  const resolution = await resolve({
    project,
    files: [],
    inline: [{ name: "<command line>", text: widget(key, spec) }],
  });
  const owner = { kind: "person", name: "ada" } as const;
  const plan = await makePlan(client, resolution, { project, owner, force });
  await apply(plan, client, resolution.managers, { origin: { command: `apply widget ${key}` } });
}

/** Applies the spec files of widgets, as `apply -f` does. */
export async function applyFiles(client: Client, project: string, keys: string[]): Promise<void> {
  const files = keys.map((key) => path.join(project, specFile(key)));
  const resolution = await resolve({ project, files });
  const owner = { kind: "apply", name: "default" } as const;
  const plan = await makePlan(client, resolution, { project, owner });
  await apply(plan, client, resolution.managers, { origin: { command: "apply -f" } });
}
