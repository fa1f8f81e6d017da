import path from "node:path";
import Database from "better-sqlite3";
import { beforeAll, describe, expect, it } from "vitest";
import { buildCommandLine, COUNTER, makeWorkspace } from "./command-line.ts";

beforeAll(buildCommandLine);

const DEFINITION = ".pi/resource-managers/counter.resource-manager.ts";

describe("backup and restore", () => {
  const { ok, json, run, write, project } = makeWorkspace();
  const file = path.join(project, "../backup");

  it("bring back what was there, with the code that it needs, on an empty machine", async () => {
    write(DEFINITION, COUNTER);
    await ok(["apply", "counter", "one", '{"value":1}', "--wait"]);
    expect(await ok(["backup", file])).toMatch(
      /backup: 1 resources, 0 open runs, 0 open effects, \d+ KiB\n/,
    );
    await ok(["delete", "counter", "one", "--yes", "--wait"]);
    await ok(["server", "stop"]);

    const elsewhere = makeWorkspace();
    const restored = await elsewhere.ok(["restore", file, "--yes"]);
    expect(restored).toMatch(
      /^restored the store of .*: 1 resources, 0 open runs, 0 open effects\n$/,
    );
    // Its definition's bundle came along: the resource is reconciled without any file of the project.
    await elsewhere.ok(["reconcile", "counter", "one", "-C", project]);
    const wait = ["wait", "counter", "one", "-C", project];
    await elsewhere.ok(wait);
    const { passes } = await elsewhere.json<{ passes: { outcome: string }[] }>([
      "describe",
      "counter",
      "one",
      "-C",
      project,
    ]);
    expect(passes[0]).toMatchObject({ outcome: "settled", cause: "request" });
  });

  it("restore asks, says where the store before is, and is refused beside a server", async () => {
    const asked = await run(["restore", file]);
    expect(asked).toMatchObject({ code: 3 });
    const { kept } = await json<{ kept: string }>(["restore", file, "--yes"]);
    const before = new Database(kept, { readonly: true });
    expect(before.prepare("SELECT state FROM resource").pluck().all()).toEqual(["removed"]);
    before.close();
    await ok(["server", "start"]);
    const refused = await run(["restore", file, "--yes"]);
    expect(refused).toMatchObject({ code: 5 });
    expect(refused.stderr).toContain("pi-workflows server stop");
    await ok(["server", "stop"]);
  });

  it("backup never writes over a file", async () => {
    const refused = await run(["backup", file]);
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.stderr).toContain("exists already");
  });
});

describe("repair and prune-history", () => {
  const { ok, json, run, write, home } = makeWorkspace();

  it("R-5, R-6: repair enqueues what a lost queue held, once", async () => {
    write(DEFINITION, COUNTER);
    await ok(["apply", "counter", "one", '{"value":1}', "--wait"]);
    await ok(["server", "stop"]);
    const database = new Database(path.join(home, "state.sqlite"));
    database.exec("DELETE FROM queue; UPDATE resource SET suspended = 1");
    database.close();
    expect(await ok(["repair", "--dry-run"])).toBe("every resource has its place in the queue\n");
    await ok(["resume", "counter", "one"]);
    await ok(["wait", "counter", "one"]);
    await ok(["server", "stop"]);
    const again = new Database(path.join(home, "state.sqlite"));
    again.exec("DELETE FROM queue");
    again.close();
    expect(await json(["repair", "--dry-run"])).toEqual({ enqueued: 1, dryRun: true });
    expect(await ok(["repair"])).toBe("1 resource enqueued\n");
  });

  it("prune-history deletes what is gone so long, after asking, and nothing that is there", async () => {
    await ok(["apply", "counter", "two", '{"value":1}', "--wait"]);
    await ok(["delete", "counter", "two", "--yes", "--wait"]);
    expect(await ok(["prune-history"])).toBe("no history is that old\n");
    const now = ["prune-history", "--older-than", "1ms"];
    expect(await json([...now, "--dry-run"])).toEqual({ resources: 1, runs: 0, dryRun: true });
    expect(await run(now)).toMatchObject({ code: 3 });
    expect(await ok([...now, "--yes"])).toContain(
      "1 removed resources and 0 ended runs was deleted",
    );
    expect(await json([...now, "--dry-run"])).toEqual({ resources: 0, runs: 0, dryRun: true });
    expect(await ok(["get", "counter"])).toContain("one");
    expect(await run(["history", "counter", "two"])).toMatchObject({ code: 2 });
  });
});
