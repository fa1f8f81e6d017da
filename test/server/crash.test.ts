import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { beforeAll, expect, it } from "vitest";
import type { Client } from "../../src/server/protocol.ts";
import {
  applySpecs,
  buildServer,
  isAlive,
  makeProject,
  startServerProcess,
  untilTrue,
} from "./server-process.ts";
import { tempFolder } from "./temp.ts";

beforeAll(buildServer);

/**
 * Each resource has one effect: a file that only one call may make. A second call fails the test by
 * making another. The pass then says what it saw.
 */
const once = `
  const fs = await import("node:fs");
  const path = await import("node:path");
  const { folder } = resource.spec;
  const made = () => fs.readdirSync(folder).filter((name) => name.startsWith(resource.metadata.key + "."));
  fs.appendFileSync(path.join(folder, "pids"), process.pid + "\\n");
  await ctx.effects.ensure({
    key: "make:" + resource.metadata.generation,
    kind: "make-file",
    request: { key: resource.metadata.key },
    observe: async () => made().length > 0
      ? { state: "applied", externalRef: made()[0] }
      : { state: "absent" },
    apply: async () => {
      fs.writeFileSync(path.join(folder, resource.metadata.key + "." + process.pid + "." + Date.now()), "");
      await new Promise((done) => setTimeout(done, 5));
      return { externalRef: "made" };
    },
  });
  return ctx.settled({ conditions: [{ type: "Ready", status: true, reason: "Made" }] });
`;
const KEYS = Array.from({ length: 60 }, (_, index) => `k${index}`);

it("E-2, F-7, P-7: kill -9 again and again ends in every key settled and each effect made once", async () => {
  const folder = path.join(tempFolder(), "effects");
  mkdirSync(folder);
  const made = () => readdirSync(folder).filter((name) => name !== "pids").length;
  const project = makeProject({ once });
  const specs = Object.fromEntries(KEYS.map((key) => [key, { folder }]));
  let server = await startServerProcess();
  await applySpecs(server.client, project, "once", specs);
  for (const target of [5, 15, 30]) {
    await untilTrue(() => made() >= target);
    await server.end("SIGKILL");
    server = await startServerProcess(server.home);
  }
  await untilTrue(async () => (await notReady(server.client, project)) === 0);
  await untilTrue(async () => (await server.client.queue({ project })).length === 0);
  const effects = await server.client.effects({ project, limit: 1_000 });
  expect(effects.filter(({ state }) => state !== "applied")).toEqual([]);
  expect(effects).toHaveLength(KEYS.length);
  expect(made()).toBe(KEYS.length);
  await server.end("SIGTERM");

  const database = new Database(path.join(server.home, "state.sqlite"), { readonly: true });
  expect(database.pragma("integrity_check", { simple: true })).toBe("ok");
  database.close();
  const pids = new Set(readFileSync(path.join(folder, "pids"), "utf8").trim().split("\n"));
  await untilTrue(() => [...pids].every((pid) => !isAlive(Number(pid))));
  expect(existsSync(path.join(server.home, "server.sock"))).toBe(false);
});

async function notReady(client: Client, project: string): Promise<number> {
  return (await client.list({ project, notReady: true, limit: 1_000 })).items.length;
}
