import { manager } from "../diff/specs.ts";
import { MemoryTarget } from "./memory-target.ts";
import { describeTarget } from "./target-contract.ts";

describeTarget("memory", async () => ({
  target: new MemoryTarget(),
  project: "/project",
  otherProject: "/other",
  manager: manager(),
  close: async () => undefined,
}));
