import { readdirSync, renameSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { ManagerProposal } from "../../src/model/batch.ts";
import type { ErrorCode, PiWorkflowsError } from "../../src/model/errors.ts";
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

/** How a proposal is refused, and what it leaves behind. */
async function refusal(
  { client, home, project }: { client: Client; home: string; project: string },
  proposal: ManagerProposal,
): Promise<unknown> {
  const code = await client.acceptManagers(project, [proposal]).then(
    () => "accepted",
    (error: PiWorkflowsError) => error.code,
  );
  const stored = (await client.managers()).length + readdirSync(path.join(home, "bundles")).length;
  return { code, stored };
}
const refused = (code: ErrorCode) => ({ code, stored: 0 });

describe("accepting a definition", () => {
  it("keeps its bundle by digest, for this user only", async () => {
    const { client, home, project, proposal } = await proposed();
    const [record] = await client.acceptManagers(project, [proposal]);
    expect(record).toMatchObject({ name: "simple", project, digest: proposal.digest });
    expect(record).not.toHaveProperty("bundle");
    const file = path.join(home, "bundles", `${proposal.digest}.mjs`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(path.join(home, "bundles"))).toHaveLength(1);
    const [again] = await client.acceptManagers(project, [proposal]);
    expect(again?.acceptedAt).toBe(record?.acceptedAt);
    expect(await client.managers()).toHaveLength(1);
  });

  it.each(["maxConcurrent", "deadlineMs"] as const)("holds %s to its limit", async (field) => {
    const made = await proposed();
    const most = field === "deadlineMs" ? LIMITS.maxDeadlineMs : LIMITS.maxConcurrent;
    for (const value of [most + 1, 0, 1.5]) {
      const proposal = { ...made.proposal, [field]: value };
      expect(await refusal(made, proposal)).toEqual(refused("BAD_REQUEST"));
    }
    const proposal = { ...made.proposal, [field]: most };
    expect(await made.client.acceptManagers(made.project, [proposal])).toMatchObject([
      { [field]: most },
    ]);
  });

  it("A-14: is refused when the file changed since it was read", async () => {
    const made = await proposed();
    writeDefinition(made.project, "simple", "return ctx.requeue();");
    expect(await refusal(made, made.proposal)).toEqual(refused("DEFINITION_CHANGED"));
  });

  it("A-14: is refused when the file is gone", async () => {
    const made = await proposed();
    renameSync(made.proposal.path, `${made.proposal.path}.old`);
    expect(await refusal(made, made.proposal)).toEqual(refused("DEFINITION_CHANGED"));
  });

  it("A-14: is refused when the bundle is not the one of the digest", async () => {
    const made = await proposed();
    const bundle = `${made.proposal.bundle}\n// more`;
    expect(await refusal(made, { ...made.proposal, bundle })).toEqual(
      refused("DEFINITION_CHANGED"),
    );
  });

  it("A-14: is refused where the path does not follow the discovery rules", async () => {
    const made = await proposed();
    const elsewhere = path.join(made.project, "simple.resource-manager.mjs");
    writeFileSync(elsewhere, "export default {}");
    const inputs = made.proposal.inputs;
    const digest = digestOf(made.proposal.bundle, inputs);
    expect(await refusal(made, { ...made.proposal, path: elsewhere, digest })).toEqual(
      refused("DEFINITION_CHANGED"),
    );
  });

  it("A-14: is refused where a link leads out of the project", async () => {
    const made = await proposed();
    const outside = path.join(tempFolder(), "simple.resource-manager.mjs");
    renameSync(made.proposal.path, outside);
    symlinkSync(outside, made.proposal.path);
    expect(await refusal(made, made.proposal)).toEqual(refused("DEFINITION_CHANGED"));
  });

  it("is refused for a project that is not named by its canonical path", async () => {
    const made = await proposed();
    const link = path.join(tempFolder(), "link");
    symlinkSync(made.project, link);
    expect(await refusal({ ...made, project: link }, made.proposal)).toEqual(
      refused("INVALID_DEFINITION"),
    );
  });

  it("is refused from a client that calls it hosted", async () => {
    const made = await proposed();
    expect(await refusal(made, { ...made.proposal, scope: "hosted" })).toEqual(
      refused("DEFINITION_CHANGED"),
    );
  });

  it("is refused past the limit of a bundle", async () => {
    const made = await proposed();
    expect(
      await refusal(made, { ...made.proposal, bundle: "x".repeat(LIMITS.bundle + 1) }),
    ).toEqual(refused("TOO_LARGE"));
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
    await untilTrue(async () => (await server.client.status()).passes.done === 1);
    expect((await status())?.resourceManagerStatus).toEqual({ mended: true });
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
