import { beforeAll, describe, expect, it } from "vitest";
import {
  applyByHand,
  buildResolver,
  conditionOf,
  definition,
  enabled,
  getWidget,
  sizes,
  specFile,
  syncedTo,
  syncServer,
  widget,
  widgetRepository,
  writeWidgets,
} from "./syncing.ts";

beforeAll(buildResolver);

const MANY = Object.fromEntries(
  Array.from({ length: 12 }, (_, number) => [`w${String(number).padStart(2, "0")}`, number]),
);

describe("a broken file", () => {
  it("A-3: leaves the last good spec of its resource in force, and says so on it; others are applied", async () => {
    const repo = widgetRepository();
    writeWidgets(repo, { a: 1, b: 1 });
    repo.commit("a and b");
    const { client } = await syncServer();
    await enabled(client, repo);

    repo.write(specFile("a"), `{ "resourceManager": "widget",\n"key" }`);
    writeWidgets(repo, { b: 2, c: 3 });
    const broken = repo.commit("a breaks");
    const status = await syncedTo(client, repo.folder, broken);
    expect(await sizes(client, repo.folder)).toEqual({ a: 1, b: 2, c: 3 });
    expect(status.report.attempted?.outcome).toBe("incomplete");
    expect(status.report.problems[0]).toMatchObject({ file: specFile("a"), line: 2 });
    expect(conditionOf(status, "SourceValid")).toMatchObject({
      status: false,
      revision: broken,
      message: expect.stringContaining(`${specFile("a")}:2:`),
    });
    expect(conditionOf(status, "Synced").status).toBe(false);
    const a = await getWidget(client, repo.folder, "a");
    expect(a.resource.status.conditions).toMatchObject([
      { type: "Synced", status: false, reason: "SourceInvalid" },
    ]);

    repo.write(specFile("a"), widget("a", { size: 5 }));
    const mended = repo.commit("a is mended");
    const after = await syncedTo(client, repo.folder, mended);
    expect(conditionOf(after, "SourceValid")).toMatchObject({ status: true, revision: mended });
    expect((await getWidget(client, repo.folder, "a")).resource.status.conditions).toMatchObject([
      { type: "Synced", status: true },
    ]);
    expect(await sizes(client, repo.folder)).toEqual({ a: 5, b: 2, c: 3 });
  });

  it("A-5: keeps everything else of the set from being pruned, and says why", async () => {
    const repo = widgetRepository();
    writeWidgets(repo, { a: 1, b: 1 });
    repo.commit("a and b");
    const { client } = await syncServer();
    await enabled(client, repo);

    repo.write(specFile("a"), "broken");
    repo.git("rm", "--quiet", specFile("b"));
    const broken = repo.commit("a breaks and b goes");
    const status = await syncedTo(client, repo.folder, broken);
    expect(await sizes(client, repo.folder)).toEqual({ a: 1, b: 1 });
    expect(conditionOf(status, "PruneBlocked")).toMatchObject({ status: true, revision: broken });
    expect(status.report.pendingPrune).toMatchObject({
      state: "blocked",
      items: [{ key: "b", removedBy: { id: broken }, reason: expect.stringContaining("Ada") }],
    });

    repo.write(specFile("a"), widget("a", { size: 2 }));
    const after = await syncedTo(client, repo.folder, repo.commit("a is mended"));
    expect(await sizes(client, repo.folder)).toEqual({ a: 2 });
    expect(conditionOf(after, "PruneBlocked").status).toBe(false);
    expect(after.report.pendingPrune).toBeUndefined();
  });
});

describe("a secret in a broken file", () => {
  it("is in no report, condition or event", async () => {
    const repo = widgetRepository();
    const schema = `text: { type: "string", writeOnly: true, format: "password", maxLength: 3 }`;
    repo.write(
      ".pi/resource-managers/widget.resource-manager.mjs",
      definition().replace(`text: { type: "string" }`, schema),
    );
    repo.write(specFile("a"), widget("a", { text: "abc" }));
    repo.commit("a");
    const { client } = await syncServer();
    const good = await enabled(client, repo);
    expect(good.report.problems).toEqual([]);
    const token = `ghp_${"x".repeat(36)}`;
    repo.write(specFile("a"), widget("a", { text: "s3cret-of-a", size: token }));
    const status = await syncedTo(client, repo.folder, repo.commit("too long"));
    expect(status.report.problems.length).toBeGreaterThan(0);
    const { uid } = (await getWidget(client, repo.folder, "a")).resource.metadata;
    const stored = JSON.stringify([
      status,
      await getWidget(client, repo.folder, "a"),
      await client.syncStatus(),
    ]);
    expect(stored).toContain(uid);
    expect(stored).not.toContain("s3cret-of-a");
    expect(stored).not.toContain(token);
  });
});

describe("two files that claim one identity", () => {
  it("A-7: are both refused, each place named, and the stored resource stays", async () => {
    const repo = widgetRepository();
    writeWidgets(repo, { a: 1 });
    repo.commit("a");
    const { client } = await syncServer();
    await enabled(client, repo);
    repo.write(specFile("a"), widget("a", { size: 2 }));
    repo.write(specFile("again"), widget("a", { size: 3 }));
    const status = await syncedTo(client, repo.folder, repo.commit("twice"));
    expect(await sizes(client, repo.folder)).toEqual({ a: 1 });
    expect(status.report.problems.map(({ file }) => file)).toEqual([
      specFile("a"),
      specFile("again"),
    ]);
  });
});

describe("a prune", () => {
  it("happens at once where it is small, and is kept with its reason", async () => {
    const repo = widgetRepository();
    writeWidgets(repo, { a: 1, b: 1 });
    repo.commit("a and b");
    const { client } = await syncServer();
    await enabled(client, repo);
    repo.git("rm", "--quiet", specFile("b"));
    const commit = repo.commit("b goes");
    const status = await syncedTo(client, repo.folder, commit);
    expect(status.report.attempted).toMatchObject({ outcome: "applied", counts: { prune: 1 } });
    expect(await sizes(client, repo.folder)).toEqual({ a: 1 });
    const [prune] = await client.prunes(repo.folder);
    expect(prune).toMatchObject({
      revision: commit,
      items: [{ key: "b", file: specFile("b"), removedBy: { id: commit, subject: "b goes" } }],
    });
    expect(prune?.confirmedBy).toBeUndefined();
  });

  it("A-6: above the guard is held whole until that very set is confirmed, which is recorded", async () => {
    const repo = widgetRepository();
    writeWidgets(repo, MANY);
    repo.write(specFile("w00"), widget("w00", { size: 0 }, { dependsOn: ["widget/w01"] }));
    repo.commit("many");
    const { client } = await syncServer();
    await enabled(client, repo);

    const gone = ["w01", "w02", "w03", "w04"];
    repo.write(specFile("w00"), widget("w00", { size: 0 }));
    repo.git("rm", "--quiet", ...gone.map(specFile));
    const commit = repo.commit("four go");
    const held = await syncedTo(client, repo.folder, commit);
    expect(Object.keys(await sizes(client, repo.folder))).toHaveLength(12);
    const pending = held.report.pendingPrune;
    expect(pending).toMatchObject({ state: "held", revision: commit });
    expect(pending?.items.map(({ key }) => key).sort()).toEqual(gone);
    expect(conditionOf(held, "PruneHeld")).toMatchObject({
      status: true,
      message: expect.stringContaining(pending?.hash?.slice(0, 12) ?? "?"),
    });
    const marked = await getWidget(client, repo.folder, "w01");
    expect(marked.resource.status.conditions).toMatchObject([{ reason: "PruneHeld" }]);

    await expect(client.syncConfirmPrune(repo.folder, "0123456789ab")).rejects.toMatchObject({
      code: "PRUNE_HELD",
    });
    repo.git("rm", "--quiet", specFile("w05"));
    const more = await syncedTo(client, repo.folder, repo.commit("a fifth goes"));
    const stale = pending?.hash ?? "";
    await expect(client.syncConfirmPrune(repo.folder, stale)).rejects.toMatchObject({
      code: "PRUNE_HELD",
      details: { hash: more.report.pendingPrune?.hash },
    });
    expect(Object.keys(await sizes(client, repo.folder))).toHaveLength(12);

    const hash = more.report.pendingPrune?.hash ?? "";
    const confirmed = await client.syncConfirmPrune(repo.folder, hash.slice(0, 12));
    expect(confirmed.report.pendingPrune).toBeUndefined();
    expect(Object.keys(await sizes(client, repo.folder))).toHaveLength(7);
    const [record] = await client.prunes(repo.folder);
    expect(record).toMatchObject({ hash, confirmedBy: expect.any(String) });
    expect(record?.items.map(({ key }) => key).sort()).toEqual([...gone, "w05"]);
  });

  it("of everything is blocked until it is said to be meant", async () => {
    const repo = widgetRepository();
    writeWidgets(repo, { a: 1, b: 2 });
    repo.commit("a and b");
    const { client } = await syncServer();
    await enabled(client, repo);
    repo.git("rm", "--quiet", "-r", ".pi/resources");
    const empty = await syncedTo(client, repo.folder, repo.commit("all go"));
    expect(conditionOf(empty, "PruneBlocked").status).toBe(true);
    expect(await sizes(client, repo.folder)).toEqual({ a: 1, b: 2 });
    await client.syncNow(repo.folder, { allowEmpty: true });
    expect(await sizes(client, repo.folder)).toEqual({});
  });

  it("spares what is protected, also when the file that protects it is gone", async () => {
    const repo = widgetRepository();
    writeWidgets(repo, { a: 1 });
    repo.write(specFile("b"), widget("b", { size: 2 }, { prune: false }));
    repo.commit("b is protected");
    const { client } = await syncServer();
    await enabled(client, repo);
    repo.git("rm", "--quiet", specFile("b"));
    await syncedTo(client, repo.folder, repo.commit("b goes"));
    expect(await sizes(client, repo.folder)).toEqual({ a: 1, b: 2 });
  });

  it("A-4: spares what an apply or a person made in the same project", async () => {
    const repo = widgetRepository();
    writeWidgets(repo, { a: 1 });
    repo.commit("a");
    const { client } = await syncServer();
    await enabled(client, repo);
    await applyByHand(client, repo.folder, "mine", { spec: { size: 9 } });
    repo.git("rm", "--quiet", specFile("a"));
    await syncedTo(client, repo.folder, repo.commit("a goes"));
    await client.syncNow(repo.folder, { allowEmpty: true });
    expect(await sizes(client, repo.folder)).toEqual({ mine: 9 });
  });

  it("does not happen where the set was enabled without", async () => {
    const repo = widgetRepository();
    writeWidgets(repo, { a: 1, b: 1 });
    repo.commit("a and b");
    const { client } = await syncServer();
    await enabled(client, repo, { prune: false });
    repo.git("rm", "--quiet", specFile("b"));
    const status = await syncedTo(client, repo.folder, repo.commit("b goes"));
    expect(conditionOf(status, "Synced").status).toBe(true);
    expect(await sizes(client, repo.folder)).toEqual({ a: 1, b: 1 });
  });
});

describe("undelete", () => {
  it("brings a pruned resource back with its last spec as a new uid, which stays", async () => {
    const repo = widgetRepository();
    writeWidgets(repo, { a: 1, b: 1 });
    repo.write(specFile("b"), widget("b", { size: 7 }, { labels: { team: "x" } }));
    repo.commit("a and b");
    const { client } = await syncServer();
    await enabled(client, repo);
    const before = await getWidget(client, repo.folder, "b");
    repo.git("rm", "--quiet", specFile("b"));
    await syncedTo(client, repo.folder, repo.commit("b goes"));
    const ref = { project: repo.folder, resourceManager: "widget", key: "b" };

    const back = await client.undelete(ref);
    expect(back).toMatchObject({
      resource: { spec: { size: 7 }, metadata: { generation: 1 } },
      labels: { team: "x" },
      owner: { kind: "sync", name: "default" },
      prunable: false,
      origin: { file: specFile("b"), command: "undelete widget b" },
    });
    expect(back.resource.metadata.uid).not.toBe(before.resource.metadata.uid);
    await client.syncNow(repo.folder);
    expect(await sizes(client, repo.folder)).toEqual({ a: 1, b: 7 });

    repo.write(specFile("b"), widget("b", { size: 8 }));
    await syncedTo(client, repo.folder, repo.commit("b is back"));
    const declared = await getWidget(client, repo.folder, "b");
    expect(declared.resource).toMatchObject({
      metadata: { uid: back.resource.metadata.uid, generation: 2 },
      spec: { size: 8 },
    });
    await expect(client.undelete(ref)).rejects.toMatchObject({ code: "CONFLICT" });
    await expect(client.undelete({ ...ref, key: "never" })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
  });
});
