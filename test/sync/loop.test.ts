import { describe, expect, it } from "vitest";
import { PiWorkflowsError } from "../../src/model/errors.ts";
import { PROJECT, widgets, World } from "./world.ts";

describe("the loop of a sync", () => {
  it("looks at hints once it is quiet, and by itself where they were lost", async () => {
    const world = new World();
    await world.start();
    expect(world.revision()).toBe("r1");
    world.commit(widgets({ a: 2 }));
    world.hint();
    world.hint();
    await world.clock.advance(10);
    expect(world.revision()).toBe("r1");
    await world.clock.advance(10);
    expect(world.revision()).toBe("r2");
    world.commit(widgets({ a: 3 }));
    await world.clock.advance(5_000);
    expect(world.revision()).toBe("r3");
    expect(world.loads.map(({ commit }) => commit)).toEqual(["r1", "r2", "r3"]);
    await world.loop.stop();
    expect(world.clock.pending()).toBe(0);
  });

  it("is not put off for ever by hints that never stop", async () => {
    const world = new World();
    await world.start();
    world.commit(widgets({ a: 2 }));
    for (let time = 0; time < 200; time += 10) {
      world.hint();
      await world.clock.advance(10);
    }
    expect(world.revision()).toBe("r2");
    await world.loop.stop();
  });

  it("loads one revision at a time, and calls off one that a newer one supersedes", async () => {
    const world = new World();
    await world.start();
    let release = (): void => {};
    world.hold = new Promise((done) => (release = done));
    world.commit(widgets({ a: 2 }));
    world.hint();
    await world.clock.advance(20);
    expect(world.loop.status().activity).toMatchObject({ state: "loading", revision: "r2" });
    world.commit(widgets({ a: 3 }));
    world.hint();
    await world.clock.advance(20);
    expect(world.loads.map(({ commit }) => commit)).toEqual(["r1", "r2", "r3"]);
    release();
    await world.clock.advance(0);
    expect(world.revision()).toBe("r3");
    expect(world.atOnce).toBe(1);
    await world.loop.stop();
  });

  it("answers who asked for a sync with the revision that superseded it", async () => {
    const world = new World();
    await world.start();
    let release = (): void => {};
    world.hold = new Promise((done) => (release = done));
    world.commit(widgets({ a: 2 }));
    const answer = world.loop.now();
    await world.clock.advance(0);
    world.commit(widgets({ a: 3 }));
    world.hint();
    await world.clock.advance(20);
    release();
    await world.clock.advance(0);
    expect((await answer).report.attempted?.revision.id).toBe("r3");
    await world.loop.stop();
  });

  it("tries again after a failure, later each time, and at once with a new revision", async () => {
    const world = new World();
    world.fault = new PiWorkflowsError("RESOLVE_FAILED", "no memory");
    await world.start();
    expect(world.loop.status()).toMatchObject({
      report: {
        attempted: { outcome: "failed", error: "no memory" },
        conditions: [{ type: "Synced", status: false, reason: "RESOLVE_FAILED" }],
      },
      activity: { state: "retrying", retryAt: world.clock.now() + 1_000 },
    });
    await world.clock.advance(999);
    expect(world.loads).toHaveLength(1);
    await world.clock.advance(1);
    expect(world.loads).toHaveLength(2);
    await world.clock.advance(60_000);
    const before = world.loads.length;
    expect(before).toBeLessThan(9);
    world.fault = undefined;
    world.commit(widgets({ a: 2 }));
    world.hint();
    await world.clock.advance(20);
    expect(world.loads).toHaveLength(before + 1);
    expect(world.loop.status().activity.state).toBe("waiting");
    await world.loop.stop();
  });

  it("keeps what is applied while its source can't be read, and goes on when it can", async () => {
    const world = new World();
    await world.start();
    world.trouble = { trouble: { reason: "BranchMissing", message: "the branch main is gone" } };
    await world.clock.advance(5_000);
    expect(world.loop.status().report).toMatchObject({
      applied: { revision: { id: "r1" } },
      conditions: [
        { type: "Synced", status: false, reason: "BranchMissing" },
        { type: "SourceValid", status: false, message: "the branch main is gone" },
      ]
        .map((condition) => expect.objectContaining(condition) as unknown)
        .concat(Array(4).fill(expect.anything())),
    });
    expect((await world.store.snapshot(PROJECT)).resources).toHaveLength(1);
    world.trouble = undefined;
    await world.clock.advance(5_000);
    expect(world.loop.status().report.conditions[0]).toMatchObject({
      type: "Synced",
      status: true,
    });
    await world.loop.stop();
  });

  it("ends in the middle of a load, and refuses who waits", async () => {
    const world = new World();
    await world.start();
    world.hold = new Promise(() => undefined);
    world.commit(widgets({ a: 2 }));
    const refused = world.loop.now().catch((thrown: unknown) => thrown);
    await world.clock.advance(0);
    await world.loop.stop();
    expect(await refused).toMatchObject({ code: "SERVER_STOPPING" });
    await expect(world.loop.now()).rejects.toMatchObject({ code: "SERVER_STOPPING" });
    expect(world.clock.pending()).toBe(0);
  });
});
