import { mkdirSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { Client } from "../../src/server/protocol.ts";
import { tempFolder } from "../server/temp.ts";
import { untilTrue } from "../server/server-process.ts";
import {
  buildResolver,
  conditionOf,
  definition,
  enabled,
  getWidget,
  ROOT,
  sizes,
  specFile,
  syncServer,
  widget,
  widgetRepository,
  writeWidgets,
} from "./syncing.ts";

beforeAll(buildResolver);

async function synced() {
  const repo = widgetRepository();
  writeWidgets(repo, { a: 1, b: 1 });
  const base = repo.commit("a and b");
  const { client, server } = await syncServer();
  const status = await enabled(client, repo, { workingTree: true });
  expect(status.set.source).toEqual({ kind: "working-tree" });
  return { repo, client, server, base };
}

function untilSizes(
  client: Client,
  project: string,
  wanted: Record<string, number>,
): Promise<void> {
  return untilTrue(
    async () => JSON.stringify(await sizes(client, project)) === JSON.stringify(wanted),
  );
}

describe("a work tree that is synced", () => {
  it("A-13: names the commit of a file that is as committed, and says which one is edited", async () => {
    const { repo, client, base } = await synced();
    const a = await getWidget(client, repo.folder, "a");
    expect(a.origin).toMatchObject({
      file: specFile("a"),
      commit: base,
      dirty: false,
      blob: repo.git("rev-parse", `HEAD:${specFile("a")}`),
      author: "Ada <ada@example.com>",
    });
    writeWidgets(repo, { a: 2 });
    await untilSizes(client, repo.folder, { a: 2, b: 1 });
    const edited = await getWidget(client, repo.folder, "a");
    expect(edited.origin).toMatchObject({ commit: base, dirty: true });
    expect(edited.origin.blob).toBeUndefined();
  });

  it("A-11: an editor's temporary file and rename, and one that deletes and writes again, change only what is written", async () => {
    const { repo, client } = await synced();
    const { uid } = (await getWidget(client, repo.folder, "a")).resource.metadata;
    const file = path.join(repo.folder, specFile("a"));
    writeFileSync(`${file}.tmp`, widget("a", { size: 2 }));
    renameSync(`${file}.tmp`, file);
    await untilSizes(client, repo.folder, { a: 2, b: 1 });
    unlinkSync(file);
    writeFileSync(file, widget("a", { size: 3 }));
    await untilSizes(client, repo.folder, { a: 3, b: 1 });
    expect((await getWidget(client, repo.folder, "a")).resource.metadata.uid).toBe(uid);
  });

  it("A-11: a checkout ends in exactly the state of the other branch", async () => {
    const { repo, client } = await synced();
    repo.git("checkout", "--quiet", "-b", "other");
    writeWidgets(repo, { a: 7, c: 9 });
    repo.git("rm", "--quiet", specFile("b"));
    repo.commit("other specs");
    await untilSizes(client, repo.folder, { a: 7, c: 9 });
    repo.git("checkout", "--quiet", "main");
    await untilSizes(client, repo.folder, { a: 1, b: 1 });
    const status = await client.syncNow(repo.folder);
    expect(conditionOf(status, "Synced").status).toBe(true);
  });

  it("holds still while a merge waits for a person, and says so", async () => {
    const { repo, client } = await synced();
    repo.git("checkout", "--quiet", "-b", "other");
    writeWidgets(repo, { a: 7 });
    repo.commit("a on other");
    repo.git("checkout", "--quiet", "main");
    writeWidgets(repo, { a: 8 });
    repo.commit("a on main");
    await untilSizes(client, repo.folder, { a: 8, b: 1 });
    expect(() => repo.git("merge", "--quiet", "other")).toThrow("merge");
    const status = await client.syncNow(repo.folder);
    expect(conditionOf(status, "Synced")).toMatchObject({
      reason: "GitOperationUnderWay",
      message: expect.stringContaining("a merge"),
    });
    expect(await sizes(client, repo.folder)).toEqual({ a: 8, b: 1 });
    repo.git("checkout", "--theirs", ".");
    repo.commit("theirs");
    await untilSizes(client, repo.folder, { a: 7, b: 1 });
  });

  it("A-3: keeps the last good spec of a broken file", async () => {
    const { repo, client } = await synced();
    repo.write(specFile("a"), "broken");
    writeWidgets(repo, { b: 2 });
    await untilSizes(client, repo.folder, { a: 1, b: 2 });
    const status = await client.syncNow(repo.folder);
    expect(status.report.problems).toMatchObject([{ file: specFile("a") }]);
  });

  it("A-5: prunes nothing where the folder of specs is gone, and says so", async () => {
    const { repo, client } = await synced();
    renameSync(path.join(repo.folder, ROOT), path.join(repo.folder, "aside"));
    await untilTrue(async () => {
      const status = await client.syncNow(repo.folder);
      return conditionOf(status, "PruneBlocked").status;
    });
    expect(await sizes(client, repo.folder)).toEqual({ a: 1, b: 1 });
    renameSync(path.join(repo.folder, "aside"), path.join(repo.folder, ROOT));
    await untilTrue(async () => {
      const status = await client.syncNow(repo.folder);
      return !conditionOf(status, "PruneBlocked").status;
    });
  });

  it("follows modules that specs import, wherever they are in the project", async () => {
    const { repo, client } = await synced();
    repo.write("lib/size.ts", "export const size: number = 3;\n");
    repo.write(
      `${ROOT}/t.resource.ts`,
      `import { size } from "../../lib/size.ts";
       export default { resourceManager: "widget", key: "t", spec: { size } };\n`,
    );
    await untilSizes(client, repo.folder, { a: 1, b: 1, t: 3 });
    repo.write("lib/size.ts", "export const size: number = 4;\n");
    await untilSizes(client, repo.folder, { a: 1, b: 1, t: 4 });
    const t = await getWidget(client, repo.folder, "t");
    expect(t.resource.metadata.generation).toBe(2);
  });

  it("may be a folder without git", async () => {
    const folder = tempFolder();
    mkdirSync(path.join(folder, ".pi/resource-managers"), { recursive: true });
    mkdirSync(path.join(folder, ROOT));
    writeFileSync(
      path.join(folder, ".pi/resource-managers/widget.resource-manager.mjs"),
      definition(),
    );
    writeFileSync(path.join(folder, specFile("a")), widget("a", { size: 1 }));
    const { client } = await syncServer();
    await enabled(client, { folder });
    expect(await sizes(client, folder)).toEqual({ a: 1 });
    expect((await getWidget(client, folder, "a")).origin.commit).toBeUndefined();
    writeFileSync(path.join(folder, specFile("b")), widget("b", { size: 2 }));
    await untilSizes(client, folder, { a: 1, b: 2 });
    rmSync(path.join(folder, specFile("b")));
    await untilSizes(client, folder, { a: 1 });
  });
});
