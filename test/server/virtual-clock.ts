export { turns, VirtualClock } from "../../src/testing/clock.ts";
