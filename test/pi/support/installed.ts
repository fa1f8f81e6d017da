import path from "node:path";
import { ensurePi, piInstalls } from "../../../scripts/install-pi.mjs";

/** A real Pi from npm, and the Node that it runs on here. */
export type InstalledPi = {
  version: string;
  /** Absolute path of the Node program. */
  node: string;
  /** Absolute path of Pi's program. */
  cli: string;
  /** What PATH begins with where `pi` means this Pi and `node` its Node. */
  path: string;
};

ensurePi();

/** Both ends of what we serve: the newest, and the oldest. */
export const PIS: InstalledPi[] = piInstalls().map(({ version, node, cli, bin }) => ({
  version,
  node,
  cli,
  path: [bin, path.dirname(node)].join(path.delimiter),
}));

/** The newest, for tests of what does not depend on the version. */
export const NEWEST_PI = PIS[0] as InstalledPi;
/** For tests that cost much and touch little that differs: all of them where that is asked for. */
export const TRIED_PIS = process.env["EVERY_PI"] === undefined ? [NEWEST_PI] : PIS;
