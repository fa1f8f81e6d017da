import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { ApplyChange } from "../../src/model/batch.ts";
import { canonicalJson, fingerprintText } from "../../src/model/canonical.ts";
import { LIMITS } from "../../src/model/limits.ts";
import { defineResourceManager } from "../../src/resource-managers/define.ts";
import { creation, host, PROJECT } from "./hosting.ts";

const sized = defineResourceManager<{ size: number }, object>({
  name: "sized",
  spec: z.object({ size: z.number().max(10) }),
  initialStatus: () => ({}),
  reconcile: (ctx) => ctx.settled(),
});
const described = defineResourceManager<{ size: number }, object>({
  name: "described",
  spec: { type: "object", properties: { size: { type: "integer" } }, required: ["size"] },
  initialStatus: () => ({}),
  reconcile: (ctx) => ctx.settled(),
});
const free = defineResourceManager<unknown, object>({
  name: "free",
  initialStatus: () => ({}),
  reconcile: (ctx) => ctx.settled(),
});

async function committing() {
  const { server } = await host({ managers: [sized, described, free] });
  const commit = (...changes: ApplyChange[]) => server.client.commit({ project: PROJECT, changes });
  const stored = async () => (await server.client.snapshot(PROJECT)).resources.length;
  return { commit, stored };
}

type Create = Extract<ApplyChange, { kind: "create" }>;
/** A change whose texts are not what they say. */
function bent(patch: Partial<Create["write"]>): ApplyChange {
  const change = creation("a", { size: 1 }, "free") as Create;
  return { ...change, write: { ...change.write, ...patch } };
}

describe("the server checks a batch again", () => {
  it("against the schema of its manager, zod or JSON Schema", async () => {
    const { commit, stored } = await committing();
    for (const manager of ["sized", "described"]) {
      await expect(
        commit(creation("good", { size: 1 }, manager), creation("bad", { size: "x" }, manager)),
      ).rejects.toMatchObject({
        code: "INVALID_SPECS",
        message: expect.stringMatching(new RegExp(`^${manager} bad: spec\\.size: `)),
      });
    }
    expect(await stored()).toBe(0);
    await commit(creation("a", { size: 1 }, "sized"), creation("a", { size: 1 }, "described"));
    expect(await stored()).toBe(2);
  });

  it("for texts that are not canonical JSON, or not of their hash", async () => {
    const { commit, stored } = await committing();
    const bad = { code: "BAD_REQUEST" };
    const spec = '{"size": 1}';
    await expect(commit(bent({ spec, specHash: fingerprintText(spec) }))).rejects.toMatchObject(
      bad,
    );
    await expect(commit(bent({ spec: "{" }))).rejects.toMatchObject(bad);
    await expect(commit(bent({ specHash: "0".repeat(64) }))).rejects.toMatchObject(bad);
    await expect(commit(bent({ initialStatus: "{ }" }))).rejects.toMatchObject(bad);
    expect(await stored()).toBe(0);
  });

  it("a spec and a status of 1 MiB of UTF-8 fit, and not a byte more", async () => {
    const { commit } = await committing();
    // Two bytes of UTF-8 each: bytes count, not characters.
    const text = (bytes: number) => canonicalJson("ü".repeat((bytes - 2) / 2));
    const of = (spec: string) => ({ spec, specHash: fingerprintText(spec) });
    const large = { code: "TOO_LARGE" };
    await expect(commit(bent(of(text(LIMITS.spec + 2))))).rejects.toMatchObject(large);
    await expect(commit(bent({ initialStatus: text(LIMITS.status + 2) }))).rejects.toMatchObject(
      large,
    );
    const { items } = await commit(bent(of(text(LIMITS.spec))));
    expect(items).toMatchObject([{ key: "a", generation: 1 }]);
  });

  it("for managers that were never accepted", async () => {
    const { commit } = await committing();
    await expect(commit(creation("a", {}, "nobody"))).rejects.toMatchObject({
      code: "UNKNOWN_MANAGER",
    });
  });

  it("names of limits: keys and labels", async () => {
    const { commit } = await committing();
    await expect(commit(creation("k".repeat(LIMITS.key + 1), {}, "free"))).rejects.toMatchObject({
      code: "TOO_LARGE",
    });
    await commit(creation("k".repeat(LIMITS.key), {}, "free"));
    const labels = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`l${index}`, ""]));
    await expect(commit(bent({ labels: labels(LIMITS.labels + 1) }))).rejects.toMatchObject({
      code: "BAD_REQUEST",
    });
    await commit(bent({ labels: labels(LIMITS.labels) }));
  });
});
