import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { SyncItem } from "../../src/server/protocol.ts";
import { makeRepository } from "../sources/git/repository.ts";
import { tempFolder } from "../server/temp.ts";
import { untilTrue } from "../server/server-process.ts";
import {
  applyByHand,
  applyFiles,
  buildResolver,
  conditionOf,
  definition,
  enabled,
  getWidget,
  sizes,
  specFile,
  syncedTo,
  syncServer,
  widgetRepository,
  writeWidgets,
} from "./syncing.ts";

beforeAll(buildResolver);

async function synced() {
  const repo = widgetRepository();
  writeWidgets(repo, { a: 1, b: 1 });
  const base = repo.commit("a and b");
  const host = await syncServer();
  await enabled(host.client, repo);
  return { repo, base, ...host };
}

describe("a resource of a sync that is changed by hand", () => {
  it("is set right at once, and shown as drift with who did it and which fields", async () => {
    const { repo, client } = await synced();
    const { uid } = (await getWidget(client, repo.folder, "a")).resource.metadata;
    await applyByHand(client, repo.folder, "a", { spec: { size: 9 }, force: true });
    await untilTrue(async () => (await getWidget(client, repo.folder, "a")).owner.kind === "sync");
    const a = await getWidget(client, repo.folder, "a");
    expect(a.resource).toMatchObject({ metadata: { uid, generation: 3 }, spec: { size: 1 } });
    await untilTrue(async () => (await client.syncStatus())[0]?.report.drift.length === 1);
    const [status] = await client.syncStatus();
    expect(status?.report.drift).toMatchObject([
      {
        key: "a",
        by: "ada: apply widget a",
        fields: ["spec.size"],
        place: { file: specFile("a") },
      },
    ]);
  });

  it("is made again where it was deleted", async () => {
    const { repo, client } = await synced();
    const origin = { owner: { kind: "person", name: "ada" }, command: "delete widget a" } as const;
    await client.delete({ project: repo.folder, resourceManager: "widget", key: "a" }, { origin });
    await untilTrue(async () => "a" in (await sizes(client, repo.folder)));
    await untilTrue(async () => (await client.syncStatus())[0]?.report.drift.length === 1);
    const [status] = await client.syncStatus();
    expect(status?.report.drift).toMatchObject([
      { key: "a", by: "ada: delete widget a", setRight: true },
    ]);
  });

  it("is kept while the sync is suspended, and shown; resuming sets it right", async () => {
    const { repo, client } = await synced();
    const suspended = await client.syncSuspend(repo.folder);
    expect(conditionOf(suspended, "Suspended").status).toBe(true);
    expect(conditionOf(suspended, "Synced").status).toBe(true);
    await applyByHand(client, repo.folder, "a", { spec: { size: 9 }, force: true });
    const drifted = await client.syncNow(repo.folder);
    expect(drifted.report).toMatchObject({
      attempted: { outcome: "planned", counts: { update: 1 } },
      drift: [{ key: "a", by: "ada: apply widget a", setRight: false }],
    });
    expect(conditionOf(drifted, "Synced")).toMatchObject({ status: false, reason: "Suspended" });
    expect(await sizes(client, repo.folder)).toEqual({ a: 9, b: 1 });
    const resumed = await client.syncResume(repo.folder);
    expect(conditionOf(resumed, "Synced").status).toBe(true);
    expect(await sizes(client, repo.folder)).toEqual({ a: 1, b: 1 });
  });

  it("is the set's as well where `apply` had it from the same file before", async () => {
    const repo = widgetRepository();
    writeWidgets(repo, { a: 1, b: 1 });
    repo.commit("a and b");
    const host = await syncServer();
    const { client } = host;
    await applyFiles(client, repo.folder, ["a", "b"]);
    const status = await enabled(client, repo);
    expect(conditionOf(status, "Synced").status).toBe(true);
    expect(status.report.drift).toEqual([]);
    const a = await getWidget(client, repo.folder, "a");
    expect([a.owner.kind, a.resource.metadata.generation]).toEqual(["sync", 1]);
    // No generation is the set's own yet; a change by hand is set right all the same.
    await applyByHand(client, repo.folder, "a", { spec: { size: 9 }, force: true });
    await untilTrue(async () => (await sizes(client, repo.folder))["a"] === 1);
    await untilTrue(async () => (await client.syncStatus())[0]?.report.drift.length === 1);
  });

  it("is another owner's where the set never applied it: a conflict that names it", async () => {
    const repo = widgetRepository();
    repo.commit("empty");
    const { client } = await syncServer();
    await applyByHand(client, repo.folder, "a", { spec: { size: 9 } });
    writeWidgets(repo, { a: 1, b: 1 });
    repo.commit("a and b");
    const status = await enabled(client, repo);
    expect(await sizes(client, repo.folder)).toEqual({ a: 9, b: 1 });
    expect(status.report.conflicts).toEqual([expect.stringContaining("belongs to ada, a person")]);
    expect(conditionOf(status, "Synced")).toMatchObject({ status: false, reason: "Conflict" });
  });
});

describe("a suspended sync", () => {
  it("plans new commits and applies none of them until it is resumed", async () => {
    const { repo, client } = await synced();
    await client.syncSuspend(repo.folder);
    writeWidgets(repo, { a: 2, c: 3 });
    const status = await syncedTo(client, repo.folder, repo.commit("more"));
    expect(status.report.attempted).toMatchObject({
      outcome: "planned",
      counts: { create: 1, update: 1 },
    });
    expect(await sizes(client, repo.folder)).toEqual({ a: 1, b: 1 });
    await client.syncResume(repo.folder);
    expect(await sizes(client, repo.folder)).toEqual({ a: 2, b: 1, c: 3 });
  });
});

describe("disabling sync", () => {
  it("leaves the resources, follows no more commits, and enabling again catches up", async () => {
    const { repo, client } = await synced();
    expect(await client.syncDisable(repo.folder)).toBe(true);
    expect(await client.syncDisable(repo.folder)).toBe(false);
    writeWidgets(repo, { a: 2 });
    repo.commit("a is larger");
    await expect(client.syncNow(repo.folder)).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(await sizes(client, repo.folder)).toEqual({ a: 1, b: 1 });
    await enabled(client, repo);
    expect(await sizes(client, repo.folder)).toEqual({ a: 2, b: 1 });
  });
});

describe("a server that starts again", () => {
  it("takes up sync by itself, with what was committed meanwhile, and never idles away", async () => {
    const { repo, server, home, client } = await synced();
    await client.syncSuspend(repo.folder);
    await client.syncResume(repo.folder);
    await server.stop();
    writeWidgets(repo, { a: 5 });
    const commit = repo.commit("while it was down");
    const again = await syncServer({ home, idleExitMs: 50, concurrency: 2 });
    await syncedTo(again.client, repo.folder, commit);
    expect(await sizes(again.client, repo.folder)).toEqual({ a: 5, b: 1 });
    let stopped = false;
    void again.server.stopped().then(() => (stopped = true));
    writeWidgets(repo, { a: 6 });
    await syncedTo(again.client, repo.folder, repo.commit("later"));
    expect(stopped).toBe(false);
    await again.client.syncDisable(repo.folder);
    await again.server.stopped();
  });
});

describe("the stream of syncs", () => {
  it("tells all that there are, each change, and that one is gone", async () => {
    const { repo, client } = await synced();
    const controller = new AbortController();
    const seen: SyncItem[] = [];
    const reading = (async () => {
      for await (const item of client.syncWatch({}, controller.signal)) seen.push(item);
    })();
    await untilTrue(() => seen.some(({ kind }) => kind === "listed"));
    expect(seen[0]).toMatchObject({ kind: "present", status: { set: { project: repo.folder } } });
    writeWidgets(repo, { a: 2 });
    const commit = repo.commit("a is larger");
    await untilTrue(() =>
      seen.some(
        (item) => item.kind === "present" && item.status.report.applied?.revision.id === commit,
      ),
    );
    await client.syncDisable(repo.folder);
    await untilTrue(() => seen.at(-1)?.kind === "removed");
    controller.abort();
    await reading;
  });
});

describe("what is loaded", () => {
  it("is only what changed, and everything where a definition changed", async () => {
    const { repo, client } = await synced();
    repo.write(
      ".pi/resource-managers/widget.resource-manager.mjs",
      definition().replace("integer", "number"),
    );
    repo.write(specFile("a"), "broken");
    const broken = await syncedTo(client, repo.folder, repo.commit("another definition"));
    expect(broken.report.problems).toHaveLength(1);
    writeWidgets(repo, { a: 1.5 });
    const mended = await syncedTo(client, repo.folder, repo.commit("half a widget"));
    expect(mended.report.problems).toEqual([]);
    expect(await sizes(client, repo.folder)).toEqual({ a: 1.5, b: 1 });
  });

  it("follows a definition for every project when it is asked to sync", async () => {
    const repo = makeRepository();
    writeWidgets(repo, { a: 1, b: 1 });
    repo.commit("a and b");
    const home = path.join(tempFolder(), "home");
    const file = path.join(home, "definitions/widget.resource-manager.mjs");
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, definition().replace("integer", "string"));
    const { client } = await syncServer({ home });
    const refused = await enabled(client, repo);
    expect(refused.report.problems).toHaveLength(2);
    writeFileSync(file, definition());
    await client.syncNow(repo.folder);
    expect(await sizes(client, repo.folder)).toEqual({ a: 1, b: 1 });
    const [before] = await client.managers(repo.folder);
    writeFileSync(file, definition("deadlineMs: 5_000,"));
    await client.syncNow(repo.folder);
    const [after] = await client.managers(repo.folder);
    expect(after).toMatchObject({ deadlineMs: 5_000 });
    expect(after?.digest).not.toBe(before?.digest);
  });

  it("is called off where a newer commit supersedes it", async () => {
    const { repo, client } = await synced();
    repo.write(
      ".pi/resources/slow.resource.mjs",
      `await new Promise((done) => setTimeout(done, 5_000)); export default [];`,
    );
    repo.commit("slow");
    await untilTrue(async () => (await client.syncStatus())[0]?.activity.state === "loading");
    repo.git("rm", "--quiet", ".pi/resources/slow.resource.mjs");
    writeWidgets(repo, { a: 2 });
    const began = performance.now();
    await syncedTo(client, repo.folder, repo.commit("quick"));
    expect(performance.now() - began).toBeLessThan(4_000);
    expect(await sizes(client, repo.folder)).toEqual({ a: 2, b: 1 });
  });
});
