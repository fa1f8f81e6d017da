import { beforeAll, describe, expect, it } from "vitest";
import {
  buildResolver,
  conditionOf,
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

describe("a committed spec", () => {
  it("becomes a generation that names its file, line, blob, commit, author and time (A-13)", async () => {
    const repo = widgetRepository();
    writeWidgets(repo, { a: 1 });
    repo.commit("a");
    const { client } = await syncServer();
    const first = await enabled(client, repo);
    expect(first.report.applied).toMatchObject({ outcome: "applied" });
    expect(await sizes(client, repo.folder)).toEqual({ a: 1 });
    expect(conditionOf(first, "Synced")).toMatchObject({ status: true });

    repo.write(specFile("a"), `\n${widget("a", { size: 2 })}`);
    const commit = repo.commit("a is larger");
    await syncedTo(client, repo.folder, commit);
    const stored = await getWidget(client, repo.folder, "a");
    expect(stored.resource).toMatchObject({ metadata: { generation: 2 }, spec: { size: 2 } });
    const origin = {
      owner: { kind: "sync", name: "default" },
      file: specFile("a"),
      line: 2,
      blob: repo.git("rev-parse", `${commit}:${specFile("a")}`),
      commit,
      author: "Ada <ada@example.com>",
      committedAt: Number(repo.git("log", "-1", "--format=%ct")) * 1_000,
      dirty: false,
    };
    expect(stored.origin).toEqual(origin);
    const history = await client.history({
      project: repo.folder,
      resourceManager: "widget",
      key: "a",
    });
    expect(history[0]?.origin).toEqual(origin);
    expect(history[1]?.origin.commit).not.toBe(commit);
  });

  it("is not there before sync is enabled, and nothing is loaded until then", async () => {
    const repo = widgetRepository();
    repo.write(
      ".pi/resource-managers/widget.resource-manager.mjs",
      `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(`${repo.folder}/ran`)}, "");`,
    );
    writeWidgets(repo, { a: 1 });
    repo.commit("a");
    const { client } = await syncServer();
    expect(await client.syncStatus()).toEqual([]);
    expect(await sizes(client, repo.folder)).toEqual({});
    await expect(client.syncNow(repo.folder)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});
