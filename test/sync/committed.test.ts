import { symlinkSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import {
  ROOT,
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
    expect(first.report.applied).toMatchObject({ outcome: "applied", counts: { create: 1 } });
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

  it("A-13: names the commit that changed it, where several came at once", async () => {
    const repo = widgetRepository();
    writeWidgets(repo, { a: 1, b: 1, c: 1 });
    repo.commit("all");
    const { client } = await syncServer();
    await enabled(client, repo);
    repo.git("checkout", "--quiet", "-b", "topic");
    writeWidgets(repo, { a: 2 });
    const first = repo.commit("a on topic");
    writeWidgets(repo, { b: 2 });
    repo.git("rm", "--quiet", specFile("c"));
    const second = repo.commit("b, and no c, on topic");
    repo.git("checkout", "--quiet", "main");
    repo.git("merge", "--quiet", "--no-ff", "--no-edit", "topic");
    await syncedTo(client, repo.folder, repo.git("rev-parse", "main"));
    expect((await getWidget(client, repo.folder, "a")).origin.commit).toBe(first);
    expect((await getWidget(client, repo.folder, "b")).origin.commit).toBe(second);
    const ref = { project: repo.folder, resourceManager: "widget", key: "c" };
    expect((await client.history(ref))[0]?.origin.commit).toBe(second);
  });

  it("in TypeScript follows the module that it imports, read from the same commit", async () => {
    const repo = widgetRepository();
    repo.write("lib/size.ts", "export const size: number = 3;\n");
    repo.write(
      `${ROOT}/t.resource.ts`,
      `import { size } from "../../lib/size.ts";
       export default { resourceManager: "widget", key: "t", spec: { size } };\n`,
    );
    writeWidgets(repo, { a: 1 });
    repo.commit("a and t");
    const { client } = await syncServer();
    await enabled(client, repo);
    expect(await sizes(client, repo.folder)).toEqual({ a: 1, t: 3 });
    repo.write("lib/size.ts", "export const size: number = 4;\n");
    const commit = repo.commit("only the module");
    repo.write("lib/size.ts", "export const size: number = 5;\n");
    const status = await syncedTo(client, repo.folder, commit);
    expect(status.report.attempted?.counts).toMatchObject({ update: 1, unchanged: 1 });
    expect(await sizes(client, repo.folder)).toEqual({ a: 1, t: 4 });
  });

  it("that is a link to another file of the commit is read as that file", async () => {
    const repo = widgetRepository();
    repo.write("specs/a.json", widget("a", { size: 1 }));
    repo.write(specFile("keep"), widget("keep", { size: 1 }));
    symlinkSync("../../specs/a.json", `${repo.folder}/${specFile("a")}`);
    repo.commit("a link");
    const { client } = await syncServer();
    await enabled(client, repo);
    expect(await sizes(client, repo.folder)).toEqual({ a: 1, keep: 1 });
    repo.write("specs/a.json", widget("a", { size: 2 }));
    await syncedTo(client, repo.folder, repo.commit("what it leads to"));
    expect(await sizes(client, repo.folder)).toEqual({ a: 2, keep: 1 });
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
