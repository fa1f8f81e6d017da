import { describe, expect, it } from "vitest";
import { z } from "zod";
import { PiWorkflowsError } from "../../src/model/errors.ts";
import { LIMITS } from "../../src/model/limits.ts";
import { conditionTrue } from "../../src/resource-managers/results.ts";
import { defineResource, defineResourceManager } from "../../src/resource-managers/define.ts";
import { cron, every } from "../../src/resource-managers/sources.ts";
import { createServer } from "../../src/server/index.ts";
import { creation, host, PROJECT, quiet } from "./hosting.ts";
import { untilTrue } from "./server-process.ts";
import { tempFolder } from "./temp.ts";

describe("managers handed over as objects", () => {
  it("run in this process through the same claims, ledger and queue", async () => {
    const calls: string[] = [];
    const merge = defineResourceManager<{ to: string }, { merged?: string }>({
      name: "merge",
      initialStatus: () => ({}),
      async reconcile(ctx, resource) {
        await ctx.finalizers.add("cleanup");
        const effect = await ctx.effects.ensure({
          key: `merge:${resource.metadata.generation}`,
          kind: "merge",
          request: { to: resource.spec.to },
          observe: () => Promise.resolve({ state: "absent" }),
          apply: (_signal, call) => {
            calls.push(call.idempotencyKey);
            return Promise.resolve({ externalRef: "commit-1" });
          },
        });
        return ctx.settled({
          resourceManagerStatus: { merged: effect.externalRef as string },
          conditions: [conditionTrue("Ready", "Merged")],
        });
      },
    });
    const { server } = await host({ managers: [merge], listen: false });
    const { client } = server;
    await client.commit({ project: PROJECT, changes: [creation("a", { to: "main" }, "merge")] });
    const ref = { project: PROJECT, resourceManager: "merge", key: "a" };
    const status = async () => (await client.get(ref))?.resource.status;
    await untilTrue(async () => (await status())?.observedGeneration === 1);
    expect((await status())?.resourceManagerStatus).toEqual({ merged: "commit-1" });
    const uid = (await client.get(ref))?.resource.metadata.uid as string;
    await client.reconcile(ref);
    await untilTrue(async () => (await client.passes(uid)).length === 2);
    expect(calls).toHaveLength(1);
    expect(await client.effects({ uid })).toMatchObject([
      { key: "merge:1", state: "applied", externalRef: "commit-1", attempts: 1 },
    ]);
    expect((await client.get(ref))?.resource.metadata.finalizers).toEqual(["cleanup"]);
  });

  it("B-1: an error is tried again later and shows in the conditions", async () => {
    const broken = defineResourceManager<unknown, object>({
      name: "broken",
      initialStatus: () => ({}),
      reconcile: () => {
        throw new Error("out of order");
      },
    });
    const { server } = await host({ managers: [broken] });
    await server.client.commit({ project: PROJECT, changes: [creation("a", {}, "broken")] });
    await untilTrue(async () => (await server.client.status()).passes.failed === 1);
    const [entry] = await server.client.queue({ project: PROJECT });
    expect(entry).toMatchObject({ cause: "retry", attempts: 1, claimed: false });
  });

  it("an open effect is settled by hand, and its resource looked at again", async () => {
    const stuck = defineResourceManager<unknown, object>({
      name: "stuck",
      initialStatus: () => ({}),
      async reconcile(ctx) {
        await ctx.effects.ensure({
          key: "e",
          kind: "k",
          request: {},
          observe: () => Promise.resolve({ state: "unknown", reason: "nobody knows" }),
          apply: () => Promise.reject(new Error("connection reset")),
        });
        return ctx.settled({ resourceManagerStatus: { done: true } });
      },
    });
    const { server } = await host({ managers: [stuck] });
    const { client } = server;
    const { items } = await client.commit({
      project: PROJECT,
      changes: [creation("a", {}, "stuck")],
    });
    const uid = items[0]?.uid as string;
    await untilTrue(async () => (await client.effects({ uid, open: true })).length === 1);
    await client.resolveEffect(uid, "e", { state: "applied", externalRef: "by hand" });
    const ref = { project: PROJECT, resourceManager: "stuck", key: "a" };
    await untilTrue(async () => {
      const found = (await client.get(ref))?.resource.status.resourceManagerStatus;
      return (found as { done?: boolean }).done === true;
    });
    await expect(client.resolveEffect(uid, "e", { state: "applied" })).rejects.toMatchObject({
      code: "EFFECT_NOT_OPEN",
    });
  });

  it("a pass that starts a workflow which nobody accepted is tried again, and works where the host runs it", async () => {
    const parent = defineResourceManager<unknown, { state?: string }>({
      name: "parent",
      initialStatus: () => ({}),
      async reconcile(ctx) {
        const run = await ctx.workflows.ensure({ requestKey: "r", workflow: "w", input: {} });
        return ctx.settled({ resourceManagerStatus: { state: run.state } });
      },
    });
    const changes = [creation("a", {}, "parent")];
    const without = await host({ managers: [parent] });
    const { items } = await without.server.client.commit({ project: PROJECT, changes });
    const uid = items[0]?.uid as string;
    await untilTrue(async () => (await without.server.client.passes(uid)).length === 1);
    // It may be accepted any time.
    const [row] = await without.server.client.queue({ project: PROJECT });
    expect(row).toMatchObject({ uid, cause: "retry", attempts: 1 });

    const run = async () => ({ requestId: "1", state: "succeeded" as const, attempt: 1 });
    const workflows = { ensure: run, get: run, cancel: run };
    const withThem = await host({ managers: [parent], workflows });
    await withThem.server.client.commit({ project: PROJECT, changes });
    const ref = { project: PROJECT, resourceManager: "parent", key: "a" };
    await untilTrue(async () => {
      const found = (await withThem.server.client.get(ref))?.resource.status.resourceManagerStatus;
      return (found as { state?: string }).state === "succeeded";
    });
  });

  it("take resources declared in the program, checked by their schema, as a plan does", async () => {
    const sized = defineResourceManager<{ size: number; unit: string }, object>({
      name: "sized",
      spec: z.object({ size: z.number(), unit: z.string().default("cm") }),
      initialStatus: () => ({}),
      reconcile: (ctx) => ctx.settled(),
    });
    const { server } = await host({ managers: [sized] });
    const declare = (key: string, size: unknown) =>
      defineResource("sized", { key, spec: { size }, labels: { team: "x" } });
    await expect(server.apply([declare("a", 1), declare("b", "large")])).rejects.toMatchObject({
      code: "INVALID_SPECS",
      message: expect.stringMatching(/^sized b: spec\.size: /),
    });
    const first = await server.apply([declare("a", 1)]);
    expect(first.actions).toMatchObject([{ kind: "create", outcome: "done", generation: 1 }]);
    const again = await server.apply([declare("a", 1)]);
    expect(again.actions).toMatchObject([{ kind: "unchanged" }]);
    const ref = { project: PROJECT, resourceManager: "sized", key: "a" };
    expect((await server.client.get(ref))?.resource.spec).toEqual({ size: 1, unit: "cm" });
    await expect(server.apply([declare("a", 2)], { owner: "other" })).rejects.toMatchObject({
      code: "CONFLICT",
    });
  });

  it("are not claimed by a server that does not have them", async () => {
    const { server, home } = await host();
    await server.client.commit({ project: PROJECT, changes: [creation("a")] });
    await untilTrue(async () => (await server.client.status()).passes.done === 1);
    await server.stop();
    const without = await host({ home, managers: [] });
    expect(
      await without.server.client.reconcile({ project: PROJECT, resourceManager: "quiet" }),
    ).toBe(1);
    const [lane] = (await without.server.client.status()).lanes;
    expect(lane).toMatchObject({ manager: "quiet", ready: 1, running: 0 });
    expect((await without.server.client.status()).passes).toMatchObject({ running: 0, done: 0 });
  });

  it("keep their interval", async () => {
    const polling = { ...quiet, name: "polling", sources: [every("1h")] };
    const { server } = await host({ managers: [polling] });
    await server.client.commit({ project: PROJECT, changes: [creation("a", {}, "polling")] });
    await untilTrue(async () => (await server.client.status()).passes.done === 1);
    const [entry] = await server.client.queue({ project: PROJECT });
    expect(entry).toMatchObject({ cause: "schedule", claimed: false });
  });

  it("may ask for the longest deadline and the most passes at once", async () => {
    const { maxDeadlineMs, maxConcurrent } = LIMITS;
    const { server } = await host({
      managers: [{ ...quiet, deadlineMs: maxDeadlineMs, maxConcurrent }],
    });
    expect(await server.client.managers(PROJECT)).toMatchObject([
      { deadlineMs: maxDeadlineMs, maxConcurrent },
    ]);
  });

  it.each([
    ["a name that is none", { ...quiet, name: "Not A Name" }],
    ["a deadline past the longest", { ...quiet, deadlineMs: LIMITS.maxDeadlineMs + 1 }],
    ["a deadline that is no whole number", { ...quiet, deadlineMs: 0.5 }],
    ["no place to run", { ...quiet, maxConcurrent: 0 }],
    ["more passes at once than the limit", { ...quiet, maxConcurrent: LIMITS.maxConcurrent + 1 }],
    ["a time that is none", { ...quiet, sources: [cron("61 * * * *")] }],
    ["a schema that is none", { ...quiet, spec: { type: "nonsense" } }],
  ])("are refused with %s, and the start leaves nothing behind", async (_what, manager) => {
    const server = createServer({ home: tempFolder(), managers: [manager], project: PROJECT });
    await expect(server.start()).rejects.toThrow(PiWorkflowsError);
    await expect(server.start()).rejects.toMatchObject({ code: "INVALID_DEFINITION" });
  });
});
