import { createHash, createHmac, randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { request as httpRequest, type OutgoingHttpHeaders } from "node:http";
import { connect } from "node:net";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { LIMITS } from "../../../src/model/limits.ts";
import {
  applySpecs,
  buildServer,
  makeProject,
  startServerProcess,
  untilTrue,
  writeDefinition,
  type ServerProcess,
} from "../server-process.ts";
import { tempFolder } from "../temp.ts";

const SECRET = "a-very-secret-word-1234567890";

/** Verifies a signature, and returns the keys that the body names. */
const MAP = `
  const { createHmac, timingSafeEqual } = await import("node:crypto");
  const given = Buffer.from(headers["x-signature"] ?? "");
  const wanted = Buffer.from(createHmac("sha256", env.HOOK_SECRET).update(body).digest("hex"));
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) throw new Error("bad signature");
  return JSON.parse(body).keys;`;

const sources = (map: string, name = "hook") =>
  `sources: [{ kind: "webhook", name: "${name}", deliveryHeader: "x-delivery",
     map: async ({ headers, body, env }) => { ${map} } }],`;

type Served = ServerProcess & { project: string; port: number };

/** A real server with a port for webhooks, and a manager \`m\` that has one. */
async function serve(map = MAP, keys = ["a", "b"]): Promise<Served> {
  process.env["HOOK_SECRET"] = SECRET;
  const home = path.join(tempFolder(), "home");
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(path.join(home, "config.json"), `{ "webhooks": { "port": 0 } }`);
  const server = await startServerProcess(home);
  const project = makeProject({});
  writeDefinition(project, "m", "return ctx.settled();", sources(map));
  await applySpecs(server.client, project, "m", Object.fromEntries(keys.map((key) => [key, {}])));
  await untilTrue(async () => (await server.client.status()).passes.done === keys.length);
  const { webhookPort } = await server.client.status();
  return { ...server, project, port: webhookPort as number };
}

type Sent = { status: number; body: string };

function post(
  port: number,
  body: string | Buffer,
  headers: OutgoingHttpHeaders = {},
  { path: at = "/webhooks/hook", method = "POST" } = {},
): Promise<Sent> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path: at, method, headers, agent: false };
    const sending = httpRequest(options, (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => (text += chunk.toString()));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text }));
      response.on("error", reject);
    });
    sending.on("error", reject);
    sending.end(body);
  });
}

const sign = (body: string, secret = SECRET): string =>
  createHmac("sha256", secret).update(body).digest("hex");

/** Sends keys, signed. */
const send = (port: number, keys: unknown, headers: OutgoingHttpHeaders = {}): Promise<Sent> => {
  const body = JSON.stringify({ keys });
  return post(port, body, { "x-signature": sign(body), "x-delivery": randomUUID(), ...headers });
};

async function causesOf({ client, project }: Served, key: string): Promise<string[]> {
  const found = await client.get({ project, resourceManager: "m", key });
  return (await client.passes(found?.resource.metadata.uid ?? "")).map(({ cause }) => cause);
}

const logOf = ({ home }: Served): string =>
  readFileSync(path.join(home, "logs/server.log"), "utf8");

beforeAll(buildServer);

describe("a webhook", () => {
  it("with a good signature wakes the keys that its map finds, and says so", async () => {
    const server = await serve();
    expect(await send(server.port, ["a", "nobody"])).toEqual({
      status: 200,
      body: '{"status":"taken"}\n',
    });
    await untilTrue(async () => (await causesOf(server, "a")).includes("webhook:hook"));
    expect(await causesOf(server, "b")).toEqual(["spec"]);
    expect((await send(server.port, ["*"])).status).toBe(200);
    await untilTrue(async () => (await causesOf(server, "b")).includes("webhook:hook"));
  });

  it("without a good signature is refused without a reason, and wakes nothing", async () => {
    const server = await serve();
    const body = JSON.stringify({ keys: ["a"] });
    const refused = { status: 401, body: '{"error":"unauthorized"}\n' };
    expect(await post(server.port, body)).toEqual(refused);
    expect(await post(server.port, body, { "x-signature": sign(body, "guess") })).toEqual(refused);
    expect(await post(server.port, `${body} `, { "x-signature": sign(body) })).toEqual(refused);
    expect(await causesOf(server, "a")).toEqual(["spec"]);
    await untilTrue(() => logOf(server).includes("bad signature"));
    const log = logOf(server);
    expect(log).toContain("bad signature");
    expect(log).not.toContain(SECRET);
    expect(log).not.toContain(sign(body));
  });

  it("that comes again is no second wake, and a refused one does not keep a good one out", async () => {
    const server = await serve();
    const id = randomUUID();
    const forged = { "x-delivery": id, "x-signature": "f" };
    expect((await send(server.port, ["a"], forged)).status).toBe(401);
    const both = await Promise.all(
      [1, 2].map(() => send(server.port, ["a"], { "x-delivery": id })),
    );
    expect(both.map(({ body }) => body).sort()).toEqual([
      '{"status":"repeated"}\n',
      '{"status":"taken"}\n',
    ]);
    await untilTrue(async () => (await causesOf(server, "a")).length === 2);
    expect((await send(server.port, ["a"], { "x-delivery": id })).body).toContain("repeated");
    await server.end("SIGTERM");
    const again = await startServerProcess(server.home);
    const port = (await again.client.status()).webhookPort as number;
    expect((await send(port, ["a"], { "x-delivery": id })).body).toContain("repeated");
    expect(await causesOf({ ...server, ...again }, "a")).toHaveLength(2);
  });

  it("gets the exact text of the body, whatever it is", async () => {
    const server = await serve(
      `const { createHash } = await import("node:crypto");
       return [createHash("sha256").update(body).digest("hex").slice(0, 8)];`,
    );
    const text = '\u{FEFF}{"a": "\\u0000 \u{1F600}  "}\r\n\u0001';
    const wanted = createHash("sha256").update(Buffer.from(text)).digest("hex").slice(0, 8);
    await applySpecs(server.client, server.project, "m", { [wanted]: {} });
    await untilTrue(async () => (await causesOf(server, wanted)).length === 1);
    expect((await post(server.port, text)).status).toBe(200);
    await untilTrue(async () => (await causesOf(server, wanted)).includes("webhook:hook"));
  });
});

describe("what is no webhook", () => {
  it("has a name that nobody declares, another method, or another path", async () => {
    const { port } = await serve();
    const at = async (where: string, method = "POST") =>
      (await post(port, "", {}, { path: where, method })).status;
    expect(await at("/webhooks/unknown")).toBe(404);
    expect(await at("/webhooks/")).toBe(404);
    expect(await at("/")).toBe(404);
    expect(await at("/v1/status")).toBe(404);
    expect(await at("/webhooks/hook", "GET")).toBe(405);
    expect(await at("/webhooks/hook", "OPTIONS")).toBe(405);
    expect(await at("/webhooks/hook?x=1")).toBe(401);
  });

  it("comes from a page in a browser, or by another name of this machine", async () => {
    const { port } = await serve();
    const withHeaders = async (headers: OutgoingHttpHeaders) =>
      (await post(port, "{}", headers)).status;
    expect(await withHeaders({ origin: "https://evil.example" })).toBe(403);
    expect(await withHeaders({ origin: "null" })).toBe(403);
    expect(await withHeaders({ host: "evil.example" })).toBe(403);
    expect(await withHeaders({ host: `evil.example:${port}` })).toBe(403);
    expect(await withHeaders({ host: `127.0.0.1:${port + 1}` })).toBe(403);
    expect(await withHeaders({ host: `localhost:${port}` })).toBe(401);
  });

  it("is larger than the limit, by its head or by what comes", async () => {
    const { port } = await serve();
    const most = Buffer.alloc(LIMITS.webhookBody, 0x20);
    expect((await post(port, most)).status).toBe(401);
    const more = Buffer.concat([most, Buffer.from(" ")]);
    expect((await post(port, more)).status).toBe(413);
    expect((await post(port, more, { "transfer-encoding": "chunked" })).status).toBe(413);
    const large = { "x-large": "x".repeat(LIMITS.webhookHeaders) };
    expect((await post(port, "", large)).status).toBe(431);
    expect((await post(port, "", { "x-delivery": "x".repeat(LIMITS.deliveryId) })).status).toBe(
      401,
    );
    const longId = { "x-delivery": "x".repeat(LIMITS.deliveryId + 1) };
    expect((await post(port, "", longId)).status).toBe(400);
  });

  it("is not text, or packed", async () => {
    const { port } = await serve();
    expect((await post(port, Buffer.from([0xff, 0xfe]))).status).toBe(400);
    expect((await post(port, "{}", { "content-encoding": "gzip" })).status).toBe(415);
  });

  it("is sent so slowly that its time is over", async () => {
    const { port } = await serve();
    const head = "POST /webhooks/hook HTTP/1.1\r\nHost: 127.0.0.1\r\n";
    const slow = (text: string) =>
      new Promise<string>((resolve) => {
        let answer = "";
        const socket = connect(port, "127.0.0.1", () => socket.write(text));
        socket.on("data", (chunk: Buffer) => (answer += chunk.toString()));
        socket.on("close", () => resolve(answer));
        socket.on("error", () => resolve(answer));
      });
    const whole = head.replace("Host: 127.0.0.1", `Host: 127.0.0.1:${port}`);
    const [inHead, inBody] = await Promise.all([
      slow(head),
      slow(`${whole}Content-Length: 10\r\n\r\n{`),
    ]);
    expect(inHead).toContain("408");
    expect(inBody).toMatch(/408|^$/);
  }, 30_000);

  it("comes by one connection more than there may be", async () => {
    const { port } = await serve();
    const held = Array.from({ length: LIMITS.webhookConnections }, () =>
      connect(port, "127.0.0.1"),
    );
    try {
      await Promise.all(held.map((socket) => once(socket, "connect")));
      await expect(post(port, "{}")).rejects.toThrow(/ECONNRESET|socket hang up/);
    } finally {
      for (const socket of held) socket.destroy();
    }
    await untilTrue(() => post(port, "{}").then(({ status }) => status === 401));
  });

  it("comes more often than it may", async () => {
    const { port } = await serve("throw new Error('no');", ["a"]);
    let answered = 0;
    let status = 0;
    while (status !== 429 && answered <= LIMITS.webhookRate * 2) {
      const batch = await Promise.all(Array.from({ length: 32 }, () => post(port, "{}")));
      answered += batch.length;
      status = Math.max(...batch.map((sent) => sent.status));
    }
    expect(status).toBe(429);
    expect(answered).toBeGreaterThanOrEqual(LIMITS.webhookRate);
  });
});

describe("a map of a webhook", () => {
  it.each([
    ["returns what are no keys", "return { keys: 1 };", 500],
    ["ends its process", "process.exit(1);", 500],
  ])("that %s is a failure of that request only", async (_what, bad, status) => {
    const server = await serve(`if (body === "bad") { ${bad} } return ["a"];`, ["a"]);
    const first = await post(server.port, "bad", { "x-delivery": "1" });
    expect(first).toEqual({ status, body: '{"error":"failed"}\n' });
    const good = await post(server.port, "good", { "x-delivery": "1" });
    expect(good.body).toContain("taken");
    await untilTrue(async () => (await causesOf(server, "a")).includes("webhook:hook"));
  });

  it("that does not end, or never lets go, is killed, and fails that request only", async () => {
    const bad = `if (body === "hang") await new Promise(() => {}); if (body === "loop") for (;;);`;
    const server = await serve(`${bad} return ["a"];`, ["a"]);
    const both = await Promise.all(["hang", "loop"].map((body) => post(server.port, body)));
    expect(both.map(({ status }) => status)).toEqual([500, 500]);
    expect((await server.client.status()).runners.busy).toBe(0);
    expect((await post(server.port, "good")).body).toContain("taken");
  });

  it("runs in a runner of its own, while passes take every place", async () => {
    const server = await serve(`return ["a"];`, ["a"]);
    writeDefinition(
      server.project,
      "busy",
      "await new Promise((r) => setTimeout(r, 60000));",
      "maxConcurrent: 16,",
    );
    const keys = Array.from({ length: LIMITS.concurrency }, (_, index) => [String(index), {}]);
    await applySpecs(server.client, server.project, "busy", Object.fromEntries(keys));
    await untilTrue(
      async () => (await server.client.status()).passes.running >= LIMITS.concurrency,
    );
    expect((await post(server.port, "{}")).status).toBe(200);
  });
});

describe("the port of webhooks", () => {
  it("is off by default, and the configuration is checked", async () => {
    const server = await startServerProcess();
    expect((await server.client.status()).webhookPort).toBeUndefined();
    const home = path.join(tempFolder(), "home");
    mkdirSync(home, { mode: 0o700 });
    writeFileSync(path.join(home, "config.json"), `{ "webhooks": { "port": 70000 }, "x": 1 }`);
    await expect(startServerProcess(home)).rejects.toThrow(
      /INVALID_CONFIG.*webhooks\.port: .*Unrecognized key: "x"/s,
    );
  });

  it("that another program holds keeps no server from starting", async () => {
    const first = await serve("return [];", ["a"]);
    const home = path.join(tempFolder(), "home");
    mkdirSync(home, { mode: 0o700 });
    writeFileSync(
      path.join(home, "config.json"),
      JSON.stringify({ webhooks: { port: first.port } }),
    );
    const second = await startServerProcess(home);
    expect((await second.client.status()).webhookPort).toBeUndefined();
    await first.end("SIGTERM");
    await untilTrue(async () => (await second.client.status()).webhookPort === first.port);
  });
});
