import { readdirSync, renameSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { ManagerProposal } from "../../src/model/batch.ts";
import { LIMITS } from "../../src/model/limits.ts";
import type { Client } from "../../src/server/protocol.ts";
import { digestOf } from "../../src/sources/digest.ts";
import { creation, host } from "./hosting.ts";
import {
  applySpecs,
  buildServer,
  load,
  makeProject,
  untilTrue,
  writeDefinition,
} from "./server-process.ts";
import { tempFolder } from "./temp.ts";

beforeAll(buildServer);

async function proposed() {
  const { server, home } = await host({ managers: [] });
  const project = makeProject({ simple: "return ctx.settled();" });
  const [proposal] = (await load(project)).managers as [ManagerProposal];
  return { client: server.client, home, project, proposal };
}

async function refuses(
  { client, home, project }: { client: Client; home: string; project: string },
  proposal: ManagerProposal,
  code: string,
): Promise<void> {
  await expect(client.acceptManagers(project, [proposal])).rejects.toMatchObject({ code });
  expect(await client.managers()).toEqual([]);
  expect(readdirSync(path.join(home, "bundles"))).toEqual([]);
}

describe("accepting a definition", () => {
  it("keeps its bundle by digest, for this user only", async () => {
    const { client, home, project, proposal } = await proposed();
    const [record] = await client.acceptManagers(project, [proposal]);
    expect(record).toMatchObject({ name: "simple", project, digest: proposal.digest });
    expect(record).not.toHaveProperty("bundle");
    const file = path.join(home, "bundles", `${proposal.digest}.mjs`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(path.join(home, "bundles"))).toHaveLength(1);
    await client.acceptManagers(project, [proposal]);
    expect(await client.managers()).toHaveLength(1);
  });

  it("A-14: is refused when the file changed since it was read", async () => {
    const made = await proposed();
    writeDefinition(made.project, "simple", "return ctx.requeue();");
    await refuses(made, made.proposal, "DEFINITION_CHANGED");
  });

  it("A-14: is refused when the file is gone", async () => {
    const made = await proposed();
    renameSync(made.proposal.path, `${made.proposal.path}.old`);
    await refuses(made, made.proposal, "DEFINITION_CHANGED");
  });

  it("A-14: is refused when the bundle is not the one of the digest", async () => {
    const made = await proposed();
    const bundle = `${made.proposal.bundle}\n// more`;
    await refuses(made, { ...made.proposal, bundle }, "DEFINITION_CHANGED");
  });

  it("A-14: is refused where the path does not follow the discovery rules", async () => {
    const made = await proposed();
    const elsewhere = path.join(made.project, "simple.resource-manager.mjs");
    writeFileSync(elsewhere, "export default {}");
    const inputs = made.proposal.inputs;
    const digest = digestOf(made.proposal.bundle, inputs);
    await refuses(made, { ...made.proposal, path: elsewhere, digest }, "DEFINITION_CHANGED");
  });

  it("A-14: is refused where a link leads out of the project", async () => {
    const made = await proposed();
    const outside = path.join(tempFolder(), "simple.resource-manager.mjs");
    renameSync(made.proposal.path, outside);
    symlinkSync(outside, made.proposal.path);
    await refuses(made, made.proposal, "DEFINITION_CHANGED");
  });

  it("is refused for a project that is not named by its canonical path", async () => {
    const made = await proposed();
    const link = path.join(tempFolder(), "link");
    symlinkSync(made.project, link);
    await refuses({ ...made, project: link }, made.proposal, "INVALID_DEFINITION");
  });

  it("is refused from a client that calls it hosted", async () => {
    const made = await proposed();
    await refuses(made, { ...made.proposal, scope: "hosted" }, "DEFINITION_CHANGED");
  });

  it("is refused past the limit of a bundle", async () => {
    const made = await proposed();
    await refuses(made, { ...made.proposal, bundle: "x".repeat(LIMITS.bundle + 1) }, "TOO_LARGE");
    const bundle = "x".repeat(LIMITS.bundle);
    const digest = digestOf(bundle, made.proposal.inputs);
    const records = await made.client.acceptManagers(made.project, [
      { ...made.proposal, bundle, digest },
    ]);
    expect(records).toHaveLength(1);
  });

  it("another definition makes every resource of its manager be looked at again", async () => {
    const { server } = await host({ managers: [] });
    const project = makeProject({ simple: "throw new Error('broken');" });
    await applySpecs(server.client, project, "simple", { a: {} });
    const status = async () =>
      (await server.client.get({ project, resourceManager: "simple", key: "a" }))?.resource.status;
    await untilTrue(async () => (await server.client.status()).passes.failed === 1);
    writeDefinition(
      project,
      "simple",
      "return ctx.settled({ resourceManagerStatus: { mended: true } });",
    );
    await applySpecs(server.client, project, "simple", { a: {} });
    await untilTrue(async () => {
      const found = (await status())?.resourceManagerStatus as { mended?: boolean };
      return found.mended === true;
    });
  });

  it("a pass whose bundle is gone from the disk ends as crashed, and says so", async () => {
    const { server, home } = await host({ managers: [] });
    const project = makeProject({ simple: "return ctx.settled();" });
    const resolution = await load(project);
    await server.client.acceptManagers(project, resolution.managers);
    const [name] = readdirSync(path.join(home, "bundles")) as [string];
    renameSync(path.join(home, "bundles", name), path.join(home, "gone.mjs"));
    const { items } = await server.client.commit({
      project,
      changes: [creation("a", {}, "simple")],
    });
    const uid = items[0]?.uid as string;
    await untilTrue(async () => (await server.client.passes(uid)).length > 0);
    const [pass] = await server.client.passes(uid);
    expect(pass).toMatchObject({
      outcome: "crashed",
      detail: expect.stringMatching(/load-failed.*/),
    });
  });
});
