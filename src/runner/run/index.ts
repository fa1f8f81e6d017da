/** What a runner, and whoever executes workflows in memory, needs of the engine of runs. */
export { compile } from "../../workflows/compile.ts";
export { attemptLog } from "./attempt-log.ts";
export { executeRun } from "./execute-run.ts";
export type { RunExecution } from "./execute-run.ts";
