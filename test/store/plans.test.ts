import { describe, expect, it } from "vitest";
import { ASKS, CRASHED, Driver, EFFECT, line, ORIGIN, PROJECT, sqliteStore } from "./support.ts";

// Few rows whatever the store holds, or an index that holds few.
const SMALL =
  /^SCAN (?:\(subquery|CONSTANT|(?:store_state|project|p|manager|m|staged_body|s|sync_set|json_each)\b)/;
const SMALL_INDEX =
  /USING (?:COVERING )?INDEX (?:queue_claimed|effect_open|resource_removed|run_open)\b/;

describe("every statement of the store", () => {
  it("finds its rows by an index, so that its cost does not grow with the store (goal P5)", async () => {
    const { store, connection, clock } = sqliteStore();
    const { database } = connection;
    const statements = new Set<string>();
    const prepare = database.prepare.bind(database);
    database.prepare = (sql: string) => {
      statements.add(sql);
      return prepare(sql) as never;
    };
    await exercise(new Driver(store, clock));
    database.prepare = prepare;

    expect(statements.size).toBeGreaterThan(50);
    const scans = [...statements]
      .filter((sql) => /^(?:SELECT|INSERT|UPDATE|DELETE)/.test(sql))
      .flatMap((sql) =>
        plan(sql).map((step) => ({ sql: sql.replaceAll(/\s+/g, " ").slice(0, 90), step })),
      )
      .filter(({ step }) => step.startsWith("SCAN"))
      .filter(({ step }) => !SMALL.test(step) && !SMALL_INDEX.test(step));
    expect(scans).toEqual([
      // All effects in the order of their moves: for people, who have few.
      { sql: expect.stringMatching(/^SELECT e\.\*, r\.uid/) as string, step: "SCAN e" },
      // `info` counts the resources, by their smallest index.
      {
        sql: expect.stringMatching(/^SELECT \(SELECT count\(\*\) FROM resource/) as string,
        step: "SCAN resource USING COVERING INDEX resource_live",
      },
    ]);

    function plan(sql: string): string[] {
      const values = Array.from({ length: sql.split("?").length - 1 }, () => 1);
      const rows = prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as { detail: string }[];
      return rows.map(({ detail }) => detail);
    }
  });
});

/** Calls everything there is to call. */
async function exercise(driver: Driver<ReturnType<typeof sqliteStore>["store"]>): Promise<void> {
  const { store, clock } = driver;
  await driver.begin("m");
  await driver.put("a", 1);
  await driver.put("b", 1);
  await driver.put("a", 2);
  const [first, second] = await driver.claim(2);
  if (!first || !second) throw new Error("not claimed");
  await store.renew(first.claim, clock.now() + 1_000);
  await store.setFinalizer(first.claim, "x", true);
  const { effect } = await store.beginEffect(first.claim, EFFECT);
  const outcome = { state: "indeterminate" as const, reason: "?", park: false };
  const { requestFingerprint } = effect;
  await store.settleEffect(first.claim, { key: EFFECT.key, requestFingerprint, outcome });
  await store.beginEffect(first.claim, { ...EFFECT, provenAbsent: true });
  await driver.settle(second, { kind: "requeue" });
  await driver.settle(first, CRASHED);
  await driver.settle(first, CRASHED);
  clock.advance(1_000_000);
  const [last] = await driver.claim(1);
  await driver.store.resolveEffect(first.claim.uid, EFFECT.key, { state: "applied" }, "ann");
  await store.enqueue([
    { target: { uid: first.claim.uid }, cause: "source" },
    { target: driver.ref("b"), cause: "source" },
    { target: { lane: driver.lane() }, cause: "schedule" },
    { target: { lane: driver.lane(), prefix: "a" }, cause: "webhook:w" },
  ]);
  await store.putSourceMark(driver.lane(), "watch:m", "1");
  await store.sourceMark(driver.lane(), "watch:m");
  await store.changedSince(driver.lane(), 0);
  await store.recordDelivery("w", "1");
  await store.isDelivered("w", "1");
  if (last) await driver.settle(last, { kind: "requeue" });
  await store.suspend(driver.ref("b"), true);
  await store.delete({ ref: driver.ref("a"), origin: ORIGIN });
  await store.delete({ ref: driver.ref("a"), origin: ORIGIN, force: true });
  await store.repair();
  clock.advance(100 * 24 * 3_600_000);
  for (const query of [{}, { uid: first.claim.uid }, { project: PROJECT, open: true }]) {
    await store.effects(query);
    await store.events(query);
    await store.events({ ...query, newestFirst: true });
    await store.queue(query);
  }
  await store.list({ notReady: true, labels: { a: "b" }, owner: ORIGIN.owner });
  await store.list({});
  await store.snapshot(PROJECT);
  await store.specs([first.claim.uid]);
  await store.history(driver.ref("a"));
  await store.removed(driver.ref("a"));
  await store.passes(first.claim.uid);
  await exerciseRuns(driver);
  await store.managers();
  await store.lanes();
  await store.info();
  await store.retain(10);
  await store.beginEpoch();
}

async function exerciseRuns(
  driver: Driver<ReturnType<typeof sqliteStore>["store"]>,
): Promise<void> {
  const { store, clock } = driver;
  await driver.accept();
  await driver.put("c", 1);
  const [parent] = await driver.claim(1, ["m"]);
  if (!parent) throw new Error("not claimed");
  const request = { requestKey: "k", workflow: "w", input: 1 };
  const { runId } = await store.ensureChildRun(parent.claim, request);
  await store.childRun(parent.claim, "k");
  await store.ensureChildRun(parent.claim, { ...request, requestKey: "other" });
  await store.cancelChildRun(parent.claim, "other");
  const first = await driver.claimRun();
  const push = { node: "push" };
  await store.appendJournal(first.claim, [line("begun", 1), line("ambiguous", 2, push)]);
  await store.appendRunLog(first.claim, [
    { at: 1, visit: 1, node: "ask", stream: "log", text: "asked" },
  ]);
  await store.answerRun(runId, { node: "ask", value: 1, by: "ann" });
  await store.resolveRun(runId, 2, { outcome: "retry", by: "ann" });
  await store.runOrders(first.claim);
  await store.appendJournal(first.claim, [line("succeeded", 1), line("released", 2, push)]);
  await store.pauseRun(runId);
  await store.resumeRun(runId);
  await driver.settle(first, CRASHED);
  await driver.accept("w", "newer");
  clock.advance(1_000_000);
  await driver.claim(1, ["workflow/w"]);
  const next = await store.retryRun(runId, "ann");
  await store.cancelRun((await driver.start()).runId, "ann");
  await store.attempts((await driver.start()).runId);
  await driver.settleRun(await driver.claimRun(), ASKS);
  await store.repair();
  await store.run(next.runId);
  await store.journal(runId, {});
  await store.journal(runId, { bodies: false });
  await store.attempts(runId);
  await store.awaited(runId);
  await store.runLog(runId, {});
  await store.workflows();
  for (const query of [
    {},
    { open: true },
    { project: PROJECT, workflow: "w" },
    { parentUid: parent.claim.uid },
    { session: "s" },
    { prefix: "id-" },
    { state: "failed" as const, after: "9" },
  ]) {
    await store.runs(query);
  }
}
