import { readFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { z } from "zod";
import { fingerprint } from "../../src/model/canonical.ts";
import { defineResourceManager, type ResourceManager } from "../../src/resource-managers/define.ts";
import {
  conditionFalse,
  EffectRejected,
  TerminalError,
} from "../../src/resource-managers/results.ts";
import { creation, host, PROJECT } from "./hosting.ts";
import { untilTrue } from "./server-process.ts";

/** Of no shape that is known as a credential, with a character that JSON escapes. */
const SECRET = 'quite "unlikely" to be guessed';
const ESCAPED = JSON.stringify(SECRET).slice(1, -1);
const PIN = 48_151_623;

const spec = z.strictObject({
  password: z.string().meta({ secret: true }),
  pin: z.number().meta({ secret: true }),
});
type Spec = z.infer<typeof spec>;
type Reconcile = ResourceManager<Spec, object>["reconcile"];

/** Runs one pass of a manager that may say what it likes; everything that is left of it. */
async function leftOf(reconcile: Reconcile) {
  const parrot = defineResourceManager<Spec, object>({
    name: "parrot",
    spec,
    initialStatus: () => ({}),
    reconcile,
  });
  const { server, home } = await host({ managers: [parrot], listen: false });
  const { client } = server;
  const changes = [creation("a", { password: SECRET, pin: PIN }, "parrot")];
  const { items } = await client.commit({ project: PROJECT, changes });
  const uid = items[0]?.uid as string;
  await untilTrue(async () => (await client.passes(uid)).length > 0);
  const ref = { project: PROJECT, resourceManager: "parrot", key: "a" };
  const stored = await client.get(ref);
  const effects = await client.effects({ uid });
  await server.stop();
  return { home, stored, effects, tables: tablesWithSecret(home), log: logOf(home) };
}

/** The tables of the database that hold the secret, in any form. */
function tablesWithSecret(home: string): string[] {
  const database = new Database(path.join(home, "state.sqlite"), { readonly: true });
  try {
    const tables = database
      .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'")
      .pluck()
      .all();
    return tables.filter((table) => {
      const rows = database.prepare<[], object>(`SELECT * FROM "${table}"`).all();
      return rows.some((row) => Object.values(row).some((value) => isTold(String(value))));
    });
  } finally {
    database.close();
  }
}

function logOf(home: string): string {
  return readFileSync(path.join(home, "logs/server.log"), "utf8");
}

/** JSON inside JSON escapes again, so the word that needs no escape is looked for too. */
function isTold(text: string): boolean {
  return [SECRET, ESCAPED, "unlikely", String(PIN)].some((form) => text.includes(form));
}

it("what a pass logs, with its fields, does not hold the secret values of its spec", async () => {
  const { log, tables } = await leftOf((ctx, { spec: { password, pin } }) => {
    ctx.log.info(`the password is ${password}`, { password: [password], pin, spec: { password } });
    ctx.log.warn("as JSON", { body: JSON.stringify({ password, pin }) });
    ctx.log.error("an error", { error: new Error(`refused ${password}`), [password]: 1 });
    return ctx.settled();
  });
  expect(log).toContain("the password is [secret]");
  expect(log).toContain("refused [secret]");
  expect(isTold(log)).toBe(false);
  expect(tables).toEqual(["spec_body"]);
});

it("fields that can't be read are no reason to fail the pass", async () => {
  const { log, stored } = await leftOf((ctx) => {
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    ctx.log.info("a circle", circle);
    return ctx.settled();
  });
  expect(log).toContain("could not be masked");
  expect(stored?.resource.status.observedGeneration).toBe(1);
});

it("events and conditions do not hold them", async () => {
  const { stored, tables, log } = await leftOf(async (ctx, { spec: { password, pin } }) => {
    await ctx.events.emit({
      type: "Normal",
      reason: "Told",
      message: `it is ${password}`,
      payload: { deep: [{ password }, pin], text: JSON.stringify({ password }) },
    });
    return ctx.settled({
      conditions: [conditionFalse("Ready", `Pin${pin}`, `with ${password} and ${pin}`)],
    });
  });
  expect(stored?.resource.status.conditions[0]).toMatchObject({
    reason: "Pin[secret]",
    message: "with [secret] and [secret]",
  });
  expect(tables).toEqual(["spec_body"]);
  expect(isTold(log)).toBe(false);
});

it.each<[string, (secret: string) => Error]>([
  ["an error", (secret) => new Error(`no entry with ${secret}`)],
  ["a terminal error", (secret) => new TerminalError(JSON.stringify({ secret }))],
  ["an error cut in its middle", (secret) => new Error("x".repeat(4_070) + secret)],
])("a pass that ends with %s does not leave them behind", async (_what, make) => {
  const { tables, log, stored } = await leftOf((_ctx, { spec: { password } }) => {
    throw make(password);
  });
  expect(stored?.resource.status.conditions[0]?.message).toContain("[secret]");
  expect(tables).toEqual(["spec_body"]);
  expect(isTold(log)).toBe(false);
});

it("E-4: of an effect's request a masked copy is kept, while its fingerprint is that of the true one", async () => {
  const { effects, tables } = await leftOf(async (ctx, { spec: { password, pin } }) => {
    await ctx.effects.ensure({
      key: "login",
      kind: "login",
      request: { with: password, pin, header: `Key ${password}` },
      observe: () => Promise.resolve({ state: "absent" }),
      apply: () => Promise.resolve({}),
    });
    return ctx.settled();
  });
  expect(effects[0]?.request).toEqual({
    with: "[secret]",
    pin: "[secret]",
    header: "Key [secret]",
  });
  const request = { with: SECRET, pin: PIN, header: `Key ${SECRET}` };
  expect(effects[0]?.requestFingerprint).toBe(fingerprint(request));
  expect(tables).toEqual(["spec_body"]);
});

it.each<[string, (secret: string) => Error]>([
  ["rejected", (secret) => new EffectRejected(`refused ${secret}`)],
  ["indeterminate", (secret) => new Error(`lost after ${secret}`)],
])("why an effect is %s does not hold them", async (state, make) => {
  const { effects, tables, log } = await leftOf(async (ctx, { spec: { password } }) => {
    await ctx.effects.ensure({
      key: "login",
      kind: "login",
      request: {},
      observe: () => Promise.resolve({ state: "unknown", reason: `no trace of ${password}` }),
      apply: () => Promise.reject(make(password)),
    });
    return ctx.settled();
  });
  expect(effects[0]).toMatchObject({ state, reason: expect.stringContaining("[secret]") });
  expect(tables).toEqual(["spec_body"]);
  expect(isTold(log)).toBe(false);
});

it("E-3: what a manager gets back is kept as it was: its status, and its effects' results", async () => {
  const { effects, stored, tables, log } = await leftOf(async (ctx, { spec: { password } }) => {
    const effect = await ctx.effects.ensure({
      key: "login",
      kind: "login",
      request: {},
      observe: () => Promise.resolve({ state: "absent" }),
      apply: () => Promise.resolve({ externalRef: `session of ${password}`, result: { password } }),
    });
    return ctx.settled({ resourceManagerStatus: { ref: effect.externalRef as string } });
  });
  expect(effects[0]).toMatchObject({
    externalRef: `session of ${SECRET}`,
    result: { password: SECRET },
  });
  expect(stored?.resource.status.resourceManagerStatus).toEqual({ ref: `session of ${SECRET}` });
  // Also the event that names the reference is for people.
  expect(tables.toSorted()).toEqual(["effect", "resource", "spec_body"]);
  expect(isTold(log)).toBe(false);
});
