/** For authors: tests of workflows and resource managers, in memory and on a real server. */
export type { AgentScript, ScriptedQuestion } from "./agents.ts";
export { VirtualClock } from "./clock.ts";
export type { CrashPoint } from "./crash.ts";
export { testManager, type ManagerTest, type ManagerTestOptions, type PassEnd } from "./manager.ts";
export { startRealServer, type RealServer, type RealServerOptions } from "./real.ts";
export {
  testWorkflow,
  type CommandScript,
  type WorkflowTest,
  type WorkflowTestOptions,
} from "./workflow.ts";
