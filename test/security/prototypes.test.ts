import { writeFileSync } from "node:fs";
import { request } from "node:http";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { readConfig } from "../../src/server/config.ts";
import { buildCommandLine, makeWorkspace } from "../cli/command-line.ts";

/**
 * Everywhere JSON enters: a member named `__proto__` is refused, by name, in all that people write and
 * clients send, since some who copy a value member by member would drop it and others inherit from it.
 * What programs return is kept as it is. `constructor` and `prototype` are names like others.
 */
const PROTO = '{"a":1,"deep":[{"__proto__":{"polluted":1}}]}';
const PLAIN = '{"a":1,"constructor":{"prototype":{"polluted":1}}}';
const NAMED = /deep\[0\]\.__proto__: this name is not allowed/;

const MANAGER = `
import { conditionTrue, defineResourceManager } from "@osolmaz/pi-workflows/resource-managers";
import { z } from "zod";
const bad = JSON.parse(${JSON.stringify(PROTO)});
const code = async (work) => { try { await work(); return "taken"; } catch ({ code, message }) { return code ?? message; } };
export default defineResourceManager({
  name: "any",
  spec: z.looseObject({}),
  initialStatus: () => ({}),
  async reconcile(ctx, { spec }) {
    ctx.log.info("told", JSON.parse('{"__proto__":"kept-in-the-log"}'));
    const effect = (name, request, result) => code(() => ctx.effects.ensure({
      key: name, kind: "k", request,
      observe: () => Promise.resolve({ state: "absent" }),
      apply: () => Promise.resolve({ externalRef: "r", result }),
    }));
    const said = [
      await code(() => ctx.events.emit({ type: "Normal", reason: "Told", message: "m", payload: bad })),
      await effect("got", bad, bad),
      String({}.polluted),
    ];
    return ctx.settled({
      resourceManagerStatus: { spec, bad },
      conditions: [conditionTrue("Ready", "Told", said.join())],
    });
  },
});
`;

const WORKFLOW = `
import { checkpoint, compute, defineWorkflow, end } from "@osolmaz/pi-workflows";
import { z } from "zod";
const look = compute({ output: z.any(), run: () => JSON.parse(${JSON.stringify(PROTO)}) });
const ask = checkpoint({ input: z.any(), message: () => "go on? " + {}.polluted, answer: z.any() });
export default defineWorkflow({
  name: "any", input: z.any(), output: z.any(), startAt: "ask", nodes: { ask, look },
  edges: { ask: { next: "look" }, look: end("done") },
  exits: { done: ({ input, output }) => ({ answer: output(ask), input, look: output(look) }) },
});
`;

describe("a name that says what an object inherits", () => {
  const workspace = makeWorkspace();
  const { run, ok, json, write, home } = workspace;
  beforeAll(() => {
    buildCommandLine();
    write(".pi/resource-managers/any.resource-manager.ts", MANAGER);
    write(".pi/workflows/any.workflow.ts", WORKFLOW);
  });
  /** What a call that must be refused says. */
  const refusal = async (args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(args);
    return code === 2 ? stdout + stderr : `exit code ${code}`;
  };

  it("is refused in specs, of JSON and of TypeScript alike, and in labels", async () => {
    expect(await refusal(["apply", "any", "a", PROTO])).toMatch(NAMED);
    write("bad/t.resource.json", `{"resourceManager":"any","key":"t","spec":${PROTO}}`);
    expect(await refusal(["apply", "-f", "bad/t.resource.json"])).toMatch(NAMED);
    const manifest = `{"resourceManager":"any","key":"t","spec":${PROTO}}`;
    write("bad/t.resource.ts", `export default JSON.parse(${JSON.stringify(manifest)});`);
    expect(await refusal(["apply", "-f", "bad/t.resource.ts"])).toMatch(NAMED);
    const labels = '{"resourceManager":"any","key":"t","labels":{"__proto__":"x"},"spec":{}}';
    write("bad/t.resource.ts", `export default JSON.parse(${JSON.stringify(labels)});`);
    expect(await refusal(["apply", "-f", "bad/t.resource.ts"])).toMatch(/labels\.__proto__/);
  });

  it("is kept in what managers say, as other names are all the way", async () => {
    await ok(["apply", "any", "a", PLAIN, "--wait"]);
    const shown = await ok(["describe", "any", "a", "-o", "json"]);
    const { resource, effects } = JSON.parse(shown) as {
      resource: { resource: Record<"spec" | "status", Record<string, unknown>> };
      effects: Record<string, unknown>[];
    };
    const { spec, status } = resource.resource;
    expect(JSON.stringify(spec)).toBe(PLAIN);
    expect(JSON.stringify(status["conditions"])).toContain("taken,taken,undefined");
    expect(JSON.stringify(status["resourceManagerStatus"])).toContain(PROTO);
    for (const part of ["request", "result"])
      expect(JSON.stringify(effects[0]?.[part])).toBe(PROTO);
    expect(await ok(["events", "-o", "json"])).toContain("__proto__");
    expect(await ok(["server", "logs"])).toContain("kept-in-the-log");
    expect(await ok(["apply", "any", "a", JSON.stringify(spec)])).toContain("unchanged");
  });

  it("is refused in inputs and answers of runs, and kept in what nodes return", async () => {
    expect(await refusal(["run", "start", "any", "--input", PROTO])).toMatch(NAMED);
    const { stderr } = await run(["run", "start", "any", "--input", PLAIN, "--wait"]);
    const id = /any (\w{8}) started/.exec(stderr)?.[1] ?? stderr;
    expect(await refusal(["run", "answer", id, PROTO])).toMatch(NAMED);
    await ok(["run", "answer", id, PLAIN]);
    await ok(["run", "wait", id]);
    const shown = await json<{ run: { output: unknown } }>(["run", "show", id]);
    expect(JSON.stringify(shown.run.output)).toBe(
      `{"answer":${PLAIN},"input":${PLAIN},"look":${PROTO}}`,
    );
  });

  it("is refused by the socket, whatever client sends it, and so is a page", async () => {
    const send = (headers: Record<string, string>, body: string) =>
      new Promise<string>((resolve, reject) => {
        const options = { socketPath: path.join(home, "server.sock"), method: "POST" };
        const asked = request({ ...options, path: "/v1/commit", headers }, (answer) => {
          let text = "";
          answer.setEncoding("utf8").on("data", (more: string) => (text += more));
          answer.on("end", () => resolve(`${answer.statusCode} ${text}`));
        });
        asked.on("error", reject).end(body);
      });
    const type = { "content-type": "application/json" };
    expect(await send(type, PROTO)).toMatch(/^400 .*__proto__/);
    expect(await send(type, PROTO.replace("__p", "\\u005f\\u005fp"))).toMatch(/^400 .*__proto__/);
    expect(await send({ ...type, origin: "http://localhost" }, "{}")).toMatch(/^400 .*pages/);
    expect(await send(type, "{}")).not.toContain("pages");
  });

  it("is refused in config.json", () => {
    const file = path.join(path.dirname(home), "config.json");
    for (const text of [
      '{"__proto__":{"webhooks":{"port":0}}}',
      '{"pi":{"__proto__":{"model":"m"}}}',
    ]) {
      writeFileSync(file, text);
      expect(() => readConfig(file)).toThrow(/__proto__/);
    }
  });
});
