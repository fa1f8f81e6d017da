import { execFile, execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { createServer as createHttpServer, request, type IncomingHttpHeaders } from "node:http";
import path from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { LIMITS } from "../../src/model/limits.ts";
import { connect } from "../../src/server/client.ts";
import { homeAt, prepareHome } from "../../src/server/home.ts";
import { HEADERS, PROTOCOL_VERSION } from "../../src/server/protocol.ts";
import { systemClock } from "../../src/model/clock.ts";
import { systemIds } from "../../src/server/system.ts";
import { openStore } from "../../src/store/sqlite/store.ts";
import { creation, host, PROJECT } from "./hosting.ts";
import { ownTmpdir, tempFolder } from "./temp.ts";

type Answer = { status: number; headers: IncomingHttpHeaders; body: unknown };

/** One raw request, as any program may send it. */
function raw(
  socketPath: string,
  {
    method = "GET",
    url = "/v1/hello",
    headers = {},
    body,
  }: {
    method?: string;
    url?: string;
    headers?: Record<string, string>;
    body?: string;
  } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { socketPath, method, path: url, headers, agent: false },
      (response) => {
        let text = "";
        response.on("data", (chunk: Buffer) => (text += chunk.toString()));
        response.on("end", () => {
          const { statusCode: status = 0, headers } = response;
          resolve({ status, headers, body: text === "" ? undefined : JSON.parse(text) });
        });
      },
    );
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

const json = { "content-type": "application/json" };
const coded = (code: string, message?: RegExp) => ({
  error: expect.objectContaining({
    code,
    hint: expect.any(String),
    ...(message ? { message: expect.stringMatching(message) } : {}),
  }),
});

describe("the socket", () => {
  it("may be opened by this user only, in a folder that only this user may enter", async () => {
    const { socket, home } = await host();
    expect(statSync(socket).mode & 0o777).toBe(0o600);
    expect(statSync(home).mode & 0o777).toBe(0o700);
  });

  it("serves curl", async () => {
    const { socket, home } = await host();
    if (!hasCurl()) return;
    const args = ["-s", "--unix-socket", socket, "http://server/v1/hello"];
    const { stdout } = await promisify(execFile)("curl", args);
    expect(JSON.parse(stdout)).toMatchObject({ home, pid: process.pid });
  });

  it("is elsewhere where its path would be too long, and clients find it", async () => {
    ownTmpdir();
    const home = path.join(tempFolder(), "x".repeat(120));
    await host({ home });
    const client = await connect({ home });
    onTestFinished(() => client.close());
    expect((await client.hello()).home).toBe(home);
  });
});

describe("what does not fit", () => {
  it("is refused with a code: routes", async () => {
    const { socket } = await host();
    const answer = await raw(socket, { url: "/v1/nothing" });
    expect(answer).toMatchObject({ status: 404, body: coded("NOT_FOUND", /GET \/v1\/nothing/) });
    expect(await raw(socket, { method: "DELETE", url: "/v1/resources" })).toMatchObject({
      status: 404,
      body: coded("NOT_FOUND"),
    });
  });

  it("is refused with a code and the place: parameters", async () => {
    const { socket } = await host();
    const bad = async (url: string) => (await raw(socket, { url })).body;
    expect(await bad("/v1/resources?colour=red")).toEqual(coded("BAD_REQUEST", /colour/));
    expect(await bad("/v1/resources?limit=0")).toEqual(coded("BAD_REQUEST", /limit/));
    expect(await bad("/v1/resources?labels=x")).toEqual(coded("BAD_REQUEST", /labels/));
    expect(await bad("/v1/resource?project=/p&resourceManager=UPPER&key=k")).toEqual(
      coded("BAD_REQUEST", /resourceManager/),
    );
    const post = { method: "POST", url: "/v1/commit", headers: json };
    expect((await raw(socket, { ...post, body: "{" })).body).toEqual(coded("BAD_REQUEST"));
    const odd = JSON.stringify({ project: "/p", changes: [{ kind: "destroy" }] });
    expect((await raw(socket, { ...post, body: odd })).body).toEqual(
      coded("BAD_REQUEST", /changes\[0\]/),
    );
    const plain = { ...post, headers: { "content-type": "text/xml" }, body: "<x/>" };
    expect((await raw(socket, plain)).body).toEqual(coded("BAD_REQUEST"));
  });

  it("is refused with a code: a body larger than the limit", async () => {
    const { socket } = await host();
    const post = { method: "POST", url: "/v1/commit" };
    const length = String(LIMITS.requestBody + 1);
    const answer = await raw(socket, {
      ...post,
      headers: { ...json, "content-length": length },
    }).catch(() => undefined);
    expect(answer).toMatchObject({ status: 413, body: coded("TOO_LARGE") });
    const fits = JSON.stringify({ project: PROJECT, changes: [], pad: "" });
    const padded = fits.slice(0, -2) + "x".repeat(LIMITS.requestBody - fits.length) + '"}';
    expect(await raw(socket, { ...post, headers: json, body: padded })).toMatchObject({
      body: coded("BAD_REQUEST", /pad/),
    });
  });

  it("that nobody expected is INTERNAL, without a stack, and is logged", async () => {
    const file = path.join(tempFolder(), "state.sqlite");
    const store = await openStore({ path: file, clock: systemClock, ids: systemIds() });
    onTestFinished(() => store.close());
    store.history = () => Promise.reject(new TypeError("oops"));
    const { socket, home, server } = await host({ store });
    const url = `/v1/history?project=${PROJECT}&resourceManager=quiet&key=none`;
    const answer = await raw(socket, { url });
    expect(answer).toMatchObject({ status: 500, body: coded("INTERNAL") });
    expect(JSON.stringify(answer.body)).not.toMatch(/\bat .*:\d+/);
    await server.stop();
    expect(readFileSync(homeAt(home).log, "utf8")).toContain("oops");
  });
});

describe("versions that do not fit refuse each other", () => {
  const of = (protocol: number) => ({
    [HEADERS.protocol]: String(protocol),
    [HEADERS.version]: "9.9",
  });

  it("an older client is told to upgrade itself", async () => {
    const { socket } = await host();
    const answer = await raw(socket, { url: "/v1/status", headers: of(PROTOCOL_VERSION - 1) });
    expect(answer).toMatchObject({ status: 426, body: coded("VERSION_MISMATCH", /9\.9/) });
    expect(answer.body).toMatchObject({ error: { details: { upgrade: "client" } } });
  });

  it("a newer client is told to upgrade the server", async () => {
    const { socket } = await host();
    const answer = await raw(socket, { url: "/v1/status", headers: of(PROTOCOL_VERSION + 1) });
    expect(answer.body).toMatchObject({ error: { details: { upgrade: "server" } } });
    const stop = { method: "POST", url: "/v1/stop", headers: of(PROTOCOL_VERSION + 1) };
    expect(await raw(socket, stop)).toMatchObject({ status: 200, body: { stopping: true } });
  });

  it("the client refuses a server of another protocol, saying which side to upgrade", async () => {
    const home = homeAt(path.join(tempFolder(), "home"));
    prepareHome(home);
    const asked: (string | undefined)[] = [];
    const server = createHttpServer(({ url }, response) => {
      asked.push(url);
      const hello = { version: "9.9", protocol: PROTOCOL_VERSION + 1, pid: 1, home: home.path };
      response.writeHead(200, of(PROTOCOL_VERSION + 1)).end(JSON.stringify(hello));
    });
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    await new Promise<void>((done) => server.listen(path.join(home.path, "server.sock"), done));
    await expect(connect({ home: home.path })).rejects.toMatchObject({
      code: "VERSION_MISMATCH",
      hint: expect.stringContaining("Upgrade the client"),
    });
    const client = await connect({ home: home.path, anyVersion: true });
    onTestFinished(() => client.close());
    await expect(client.status()).rejects.toMatchObject({ code: "VERSION_MISMATCH" });
    await client.stop();
    expect(asked.at(-1)).toBe("/v1/stop");
  });

  it("no server at all is SERVER_UNREACHABLE", async () => {
    const home = path.join(tempFolder(), "home");
    await expect(connect({ home })).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" });
  });
});

describe("the client", () => {
  it("throws what the server threw", async () => {
    const { home } = await host();
    const client = await connect({ home });
    onTestFinished(() => client.close());
    await expect(
      client.commit({ project: PROJECT, changes: [creation("a", {}, "unknown")] }),
    ).rejects.toMatchObject({ code: "UNKNOWN_MANAGER", message: /unknown/ });
    const ref = { project: PROJECT, resourceManager: "quiet", key: "none" };
    expect(await client.get(ref)).toBeUndefined();
    await expect(client.reconcile(ref)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("reads everything that it writes", async () => {
    const { home } = await host();
    const client = await connect({ home });
    onTestFinished(() => client.close());
    const receipt = await client.commit({
      project: PROJECT,
      changes: [creation("a"), creation("b")],
    });
    const uid = receipt.items[0]?.uid as string;
    const ref = { project: PROJECT, resourceManager: "quiet", key: "a" };
    expect((await client.get(ref))?.resource.metadata.uid).toBe(uid);
    const labels = { none: "x,y=z" };
    expect((await client.list({ project: PROJECT, labels })).items).toEqual([]);
    const { items, next } = await client.list({ project: PROJECT, limit: 1 });
    expect(items.map(({ metadata }) => metadata.key)).toEqual(["a"]);
    const rest = await client.list({ project: PROJECT, limit: 1, after: next as string });
    expect(rest.items.map(({ metadata }) => metadata.key)).toEqual(["b"]);
    expect((await client.history(ref)).map(({ generation }) => generation)).toEqual([1]);
    expect(await client.effects({ uid, open: true })).toEqual([]);
    expect((await client.managers(PROJECT)).map(({ name }) => name)).toEqual(["quiet"]);
    expect((await client.suspend(ref, true)).suspended).toBe(true);
    const origin = { owner: { kind: "person", name: "me" } } as const;
    expect(await client.delete(ref, { origin })).toMatchObject({ uid, removed: true });
    expect(await client.get(ref)).toBeUndefined();
    expect(await client.repair({ dryRun: true })).toEqual({ enqueued: expect.any(Number) });
    expect(await client.reconcile({ project: PROJECT, resourceManager: "quiet" })).toBe(1);
  });
});

function hasCurl(): boolean {
  try {
    execFileSync("curl", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
