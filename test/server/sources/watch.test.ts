import { describe, expect, it } from "vitest";
import { LIMITS } from "../../../src/model/limits.ts";
import type { PassRecord } from "../../../src/model/pass.ts";
import type { StoredResource } from "../../../src/model/resource.ts";
import {
  defineResource,
  defineResourceManager,
  type ResourceManager,
} from "../../../src/resource-managers/define.ts";
import {
  watch,
  type WatchedChange,
  type WatchMap,
} from "../../../src/resource-managers/sources.ts";
import type { Server } from "../../../src/server/index.ts";
import { host, PROJECT } from "../hosting.ts";
import { untilTrue } from "../server-process.ts";

type Reconcile = ResourceManager<unknown, { count?: number }>["reconcile"];
const done: Reconcile = (ctx) => ctx.settled();

const manager = (name: string, sources: ResourceManager["sources"] = [], reconcile = done) =>
  defineResourceManager<unknown, { count?: number }>({
    name,
    initialStatus: () => ({}),
    sources,
    reconcile,
  }) as ResourceManager;

/** Counts its passes in its status, so that each is a change that others see. */
const counting: Reconcile = (ctx, resource) =>
  ctx.settled({
    resourceManagerStatus: { count: (resource.status.resourceManagerStatus.count ?? 0) + 1 },
  });

async function apply(server: Server, name: string, key: string, spec: unknown = {}) {
  const receipt = await server.apply([defineResource(name, { key, spec })]);
  return receipt;
}

const ORIGIN = { origin: { owner: { kind: "apply", name: "program" } } } as const;
const refOf = (name: string, key: string) => ({ project: PROJECT, resourceManager: name, key });

async function stored(server: Server, name: string, key: string): Promise<StoredResource> {
  const found = await server.client.get(refOf(name, key));
  if (!found) throw new Error(`there is no ${name} ${key}`);
  return found;
}

async function passesOf(server: Server, name: string, key: string): Promise<PassRecord[]> {
  return server.client.passes((await stored(server, name, key)).resource.metadata.uid);
}

const causesOf = async (server: Server, name: string, key: string): Promise<string[]> =>
  (await passesOf(server, name, key)).map(({ cause }) => cause).reverse();

/** Resolves when nothing is ready, claimed or looked at. */
async function atRest(server: Server): Promise<void> {
  let quiet = 0;
  await untilTrue(async () => {
    const { lanes, passes } = await server.client.status();
    const busy = passes.running > 0 || lanes.some(({ ready, running }) => ready + running > 0);
    quiet = busy ? 0 : quiet + 1;
    return quiet > 10;
  });
}

describe("a manager that watches another", () => {
  it("is woken at the same key by a change of spec, status and by the end of what it watches", async () => {
    const { server } = await host({ managers: [manager("a"), manager("b", [watch("a")])] });
    await apply(server, "b", "one");
    await atRest(server);
    await apply(server, "a", "one");
    await untilTrue(async () => (await causesOf(server, "b", "one")).length >= 2);
    await atRest(server);
    const before = (await causesOf(server, "b", "one")).length;
    await apply(server, "a", "one", { changed: true });
    await untilTrue(async () => (await causesOf(server, "b", "one")).length > before);
    await atRest(server);
    const between = (await causesOf(server, "b", "one")).length;
    await server.client.delete(refOf("a", "one"), ORIGIN);
    await untilTrue(async () => (await causesOf(server, "b", "one")).length > between);
    const [first, ...woken] = await causesOf(server, "b", "one");
    expect(first).toBe("spec");
    expect(new Set(woken)).toEqual(new Set(["watch:a"]));
  });

  it("is not woken by a pass that changed nothing, nor in another project's name", async () => {
    const { server } = await host({ managers: [manager("a"), manager("b", [watch("a")])] });
    await apply(server, "b", "one");
    await apply(server, "a", "one");
    await apply(server, "a", "two");
    await atRest(server);
    const before = (await causesOf(server, "b", "one")).length;
    for (let count = 0; count < 3; count += 1) {
      await server.client.reconcile(refOf("a", "one"));
      await atRest(server);
    }
    expect((await causesOf(server, "b", "one")).length).toBe(before);
  });

  it("maps both the old and the new spec, so that what the old one pointed to is woken too", async () => {
    const map: WatchMap = ({ resource }) => [(resource.spec as { parent: string }).parent];
    const { server } = await host({
      managers: [manager("child"), manager("parent", [watch("child", map)])],
    });
    for (const key of ["x", "y", "z"]) await apply(server, "parent", key);
    await apply(server, "child", "c", { parent: "x" });
    await atRest(server);
    const before = await causesOf(server, "parent", "x");
    expect(before.at(-1)).toBe("watch:child");
    await apply(server, "child", "c", { parent: "y" });
    await untilTrue(async () => (await causesOf(server, "parent", "y")).includes("watch:child"));
    await untilTrue(async () => (await causesOf(server, "parent", "x")).length > before.length);
    expect(await causesOf(server, "parent", "z")).toEqual(["spec"]);
  });

  it("maps the end of a resource, with what it was last", async () => {
    const seen: WatchedChange[] = [];
    const map: WatchMap = (change) => {
      seen.push(change);
      return [];
    };
    const { server } = await host({ managers: [manager("a"), manager("b", [watch("a", map)])] });
    await apply(server, "a", "one", { size: 7 });
    await atRest(server);
    await server.client.delete(refOf("a", "one"), ORIGIN);
    await untilTrue(() => seen.some(({ removed }) => removed));
    expect(seen.at(-1)?.resource).toMatchObject({ metadata: { key: "one" }, spec: { size: 7 } });
  });

  it("may wake all keys, or those that begin alike", async () => {
    const map: WatchMap = ({ resource }) => [resource.metadata.key === "all" ? "*" : "team/*"];
    const { server } = await host({ managers: [manager("a"), manager("b", [watch("a", map)])] });
    for (const key of ["team/1", "team/2", "other"]) await apply(server, "b", key);
    await atRest(server);
    await apply(server, "a", "some");
    await untilTrue(async () => (await causesOf(server, "b", "team/2")).includes("watch:a"));
    await untilTrue(async () => (await causesOf(server, "b", "team/1")).includes("watch:a"));
    expect(await causesOf(server, "b", "other")).toEqual(["spec"]);
    await apply(server, "a", "all");
    await untilTrue(async () => (await causesOf(server, "b", "other")).includes("watch:a"));
  });

  it("tries again where its map throws", async () => {
    let tries = 0;
    const map: WatchMap = ({ resource }) => {
      tries += 1;
      if (tries === 1) throw new Error("not now");
      return [resource.metadata.key];
    };
    const { server } = await host({ managers: [manager("a"), manager("b", [watch("a", map)])] });
    await apply(server, "b", "one");
    await apply(server, "a", "one");
    await untilTrue(async () => (await causesOf(server, "b", "one")).includes("watch:a"));
    expect(tries).toBeGreaterThan(1);
  });

  it("is woken after a restart by what changed while it was not there", async () => {
    const a = manager("a");
    const b = manager("b", [watch("a")]);
    const { server, home } = await host({ managers: [a, b] });
    await apply(server, "b", "one");
    await apply(server, "b", "two");
    await apply(server, "a", "one", { size: 1 });
    await apply(server, "a", "two", { size: 1 });
    await atRest(server);
    await server.stop();
    const without = await host({ home, managers: [a] });
    await apply(without.server, "a", "one", { size: 2 });
    await atRest(without.server);
    await without.server.stop();
    const again = await host({ home, managers: [a, b] });
    const before = (await causesOf(again.server, "b", "two")).length;
    await untilTrue(async () => (await causesOf(again.server, "b", "one")).at(-1) === "watch:a");
    await atRest(again.server);
    expect(await causesOf(again.server, "b", "two")).toHaveLength(before);
  });

  it("is woken once for each of many that change together", async () => {
    const { server } = await host({ managers: [manager("a"), manager("b", [watch("a")])] });
    const keys = Array.from({ length: 300 }, (_, index) => `key-${index}`);
    const all = (name: string) => keys.map((key) => defineResource(name, { key, spec: {} }));
    await server.apply(all("b"));
    await atRest(server);
    await server.apply(all("a"));
    await untilTrue(async () => {
      const causes = await Promise.all(keys.map((key) => causesOf(server, "b", key)));
      return causes.every((found) => found.includes("watch:a"));
    });
    await atRest(server);
    const passes = await Promise.all(keys.map((key) => passesOf(server, "b", key)));
    // A new resource, and its first status.
    expect(Math.max(...passes.map((found) => found.length))).toBeLessThanOrEqual(3);
  });

  it("of its own kind wakes others, and never itself", async () => {
    const map: WatchMap = ({ resource }) => ["parent", resource.metadata.key];
    const { server } = await host({ managers: [manager("a", [watch("a", map)], counting)] });
    await apply(server, "a", "parent");
    await atRest(server);
    await apply(server, "a", "child");
    await untilTrue(async () => (await causesOf(server, "a", "parent")).includes("watch:a"));
    await atRest(server);
    expect(await causesOf(server, "a", "child")).toEqual(["spec"]);
  });
});

describe("managers that watch each other", () => {
  it("come to rest when neither changes any more", async () => {
    const settle: Reconcile = (ctx) => ctx.settled({ resourceManagerStatus: { count: 1 } });
    const both = [manager("a", [watch("b")], settle), manager("b", [watch("a")], settle)];
    const { server } = await host({ managers: both });
    await apply(server, "a", "one");
    await apply(server, "b", "one");
    await atRest(server);
    expect((await passesOf(server, "a", "one")).length).toBeLessThan(8);
  });

  it("B-5: are slowed with a warning when they answer each other without end, and never stopped", async () => {
    const both = [manager("a", [watch("b")], counting), manager("b", [watch("a")], counting)];
    const { server } = await host({ managers: both });
    await apply(server, "a", "one");
    await apply(server, "b", "one");
    const ended = new AbortController();
    for await (const { reason } of server.client.events({ after: 0 }, ended.signal)) {
      if (reason === "HotLoop") ended.abort();
    }
    await atRest(server);
    const waiting = await server.client.queue({ project: PROJECT });
    expect(waiting.map(({ cause }) => cause)).toContainEqual(expect.stringMatching(/^watch:/));
    const { count } = (await stored(server, "a", "one")).resource.status.resourceManagerStatus as {
      count: number;
    };
    expect(count).toBeLessThanOrEqual(2 * LIMITS.hotLoopPasses + 5);
  });
});
