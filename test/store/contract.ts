import { describe } from "vitest";
import { queueSuite } from "./contract/queue.ts";
import { backoffSuite } from "./contract/backoff.ts";
import { claimSuite } from "./contract/claims.ts";
import { statusSuite } from "./contract/status.ts";
import { deletionSuite } from "./contract/deletion.ts";
import { effectSuite } from "./contract/effects.ts";
import { childRunSuite } from "./contract/child-runs.ts";
import { laneSuite } from "./contract/lanes.ts";
import { runSuite } from "./contract/runs.ts";
import { Driver, ManualClock, type ModelledStore } from "./support.ts";

/**
 * What every implementation of the store must do; each rule by one example. Another store joins by a
 * line in contract.test.ts, which opens an empty one on the clock that it is given; and by `playBoth`
 * of differential.ts with it in SQLite's place, which compares it with the reference model after every
 * command of random stories. It needs no more than `ModelledStore`, whose methods are coarse, so that
 * each can be one transaction of a database elsewhere.
 */
export function describeStore(name: string, make: (clock: ManualClock) => ModelledStore): void {
  const start = () => {
    const clock = new ManualClock();
    return new Driver(make(clock), clock).begin("m", "n");
  };
  describe(`queue of ${name}`, () => {
    queueSuite(start);
  });
  describe(`backoff of ${name}`, () => {
    backoffSuite(start);
  });
  describe(`claims of ${name}`, () => {
    claimSuite(start);
  });
  describe(`generations and status of ${name}`, () => {
    statusSuite(start);
  });
  describe(`deletion of ${name}`, () => {
    deletionSuite(start);
  });
  describe(`effects of ${name}`, () => {
    effectSuite(start);
  });
  describe(`managers, suspension and repair of ${name}`, () => {
    laneSuite(start);
  });
  describe(`runs of ${name}`, () => {
    runSuite(start);
  });
  describe(`child runs of ${name}`, () => {
    childRunSuite(start);
  });
}
