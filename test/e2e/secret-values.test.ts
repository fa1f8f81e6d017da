import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { buildAll, Stage } from "./stage.ts";

/** Of no shape that is known as a credential, with characters that JSON escapes. */
const SECRET = 'the "least" likely\\guess of all';
const OLD_SECRET = 'an "older" guess';
const FORMS = [SECRET, OLD_SECRET].flatMap((text) => [text, JSON.stringify(text).slice(1, -1)]);
/** JSON inside JSON escapes again, so parts without an escape are looked for too. */
const TOLD = [...FORMS, "least", "older"];

/** A manager that repeats a secret value wherever it can, and fails once on the way. */
const PARROT = `
import { conditionTrue, defineResourceManager } from "@osolmaz/pi-workflows/resource-managers";
import { z } from "zod";
export default defineResourceManager({
  name: "parrot",
  spec: z.strictObject({ password: z.string().meta({ secret: true }) }),
  initialStatus: () => ({ passes: 0 }),
  async reconcile(ctx, resource) {
    const { password } = resource.spec;
    const { generation } = resource.metadata;
    console.log("written: " + password);
    console.error(JSON.stringify({ password }));
    ctx.log.info("using " + password, { password: [password], text: JSON.stringify({ password }) });
    await ctx.events.emit({
      type: "Normal", reason: "Told", message: "using " + password, payload: { text: password },
    });
    const login = await ctx.effects.ensure({
      key: "login:" + generation,
      kind: "login",
      request: { with: password },
      observe: () => Promise.resolve({ state: "absent" }),
      apply: () => Promise.resolve({ externalRef: "session of " + password, result: { password } }),
    });
    if (!login.externalRef.endsWith(password)) throw new Error("the result was changed");
    if (ctx.event.cause !== "retry") throw new Error("not yet, with " + password);
    return ctx.settled({
      resourceManagerStatus: { passes: generation, last: "used " + password },
      conditions: [conditionTrue("Ready", "LoggedIn", "as " + password)],
    });
  },
});
`;

let stage: Stage;
let close = async () => {};

beforeAll(async () => {
  buildAll();
  stage = new Stage({ onTestFinished: (clean) => void (close = clean) });
  stage.write(".pi/resource-managers/parrot.resource-manager.ts", PARROT);
  for (const password of [OLD_SECRET, SECRET]) {
    const manifest = { resourceManager: "parrot", key: "polly", spec: { password } };
    stage.write(".pi/resources/polly.resource.json", manifest);
    await stage.ok(["apply", "-f", ".pi/resources", "--wait", "--timeout", "2m"]);
  }
});
afterAll(() => close());

const isTold = (text: string): boolean => TOLD.some((form) => text.includes(form));

it.each([
  [["get"]],
  [["get", "-o", "json"]],
  [["get", "parrot", "polly", "-o", "json"]],
  [["describe", "parrot", "polly"]],
  [["describe", "parrot", "polly", "-o", "json"]],
  [["why", "parrot", "polly"]],
  [["why", "parrot", "polly", "-o", "json"]],
  [["events"]],
  [["events", "-o", "json"]],
  [["effects"]],
  [["effects", "-o", "json"]],
  [["effects", "parrot", "polly", "-o", "json"]],
  [["server", "logs", "--lines", "1000"]],
])("%j does not say a secret that the manager repeated", async (args) => {
  const { stdout, stderr, code } = await stage.run(args);
  expect(code).toBe(0);
  expect(stdout).not.toBe("");
  expect(isTold(stdout + stderr)).toBe(false);
});

it("--show-secrets does say it", async () => {
  const shown = await stage.ok(["describe", "parrot", "polly", "-o", "json", "--show-secrets"]);
  expect(JSON.parse(shown)).toMatchObject({
    resource: { resource: { status: { resourceManagerStatus: { last: `used ${SECRET}` } } } },
  });
});

it("what is kept for people does not hold it, and what the manager gets back does", () => {
  const holders = stage.inspect((database) => {
    const columns = (table: string): string[] =>
      database
        .prepare<[], Record<string, unknown>>(`SELECT * FROM "${table}"`)
        .all()
        .flatMap((row) => Object.entries(row).filter(([, value]) => isTold(String(value))))
        .map(([column]) => `${table}.${column}`);
    return database
      .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'")
      .pluck()
      .all()
      .flatMap(columns);
  });
  expect([...new Set(holders)].toSorted()).toEqual([
    "effect.external_ref",
    "effect.result",
    "resource.status",
    "spec_body.body",
  ]);
});

it("the server's log does not hold it, nor what the manager wrote to its own output", async () => {
  await stage.ok(["server", "stop"]);
  const log = readFileSync(path.join(stage.home, "logs/server.log"), "utf8");
  expect(log).toContain("using [secret]");
  expect(log).toContain("written: [secret]");
  expect(isTold(log)).toBe(false);
});
