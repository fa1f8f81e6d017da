import { parseArgs } from "node:util";
import { ERRORS, toPiWorkflowsError } from "../model/errors.ts";
import { LIMITS } from "../model/limits.ts";
import { redactText } from "../model/redact.ts";
import { printableLines } from "../model/text.ts";
import { keepMemoryOutOfCoreFiles } from "./core-files.ts";
import { createServer, type Server } from "./index.ts";

/**
 * The server's process: `node dist/server/main.js [--background]`. In the foreground it logs to
 * standard error too and stays until it is stopped; in the background it ends when it is idle.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { background: { type: "boolean", default: false } } });
  const server = createServer(
    values.background ? { idleExitMs: LIMITS.idleExitMs } : { echo: true },
  );
  process.title = "pi-workflows server";
  keepMemoryOutOfCoreFiles();
  stopOnSignals(server);
  await server.start();
  await server.stopped();
}

/** The first signal drains; the second ends the process at once. */
function stopOnSignals(server: Server): void {
  let asked = false;
  const onSignal = (): void => {
    if (asked) process.exit(1);
    asked = true;
    void server.stop();
  };
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, onSignal);
}

/**
 * Nothing is known to be sound after an error that nobody caught, so the process ends: what was
 * committed is durable, and the next server voids the claims. Standard error is the log here, so a
 * stack goes there where the error is not one of the table.
 */
function fail(thrown: unknown): never {
  const error = toPiWorkflowsError(thrown);
  const { cause } = error;
  const stack = error.code === "INTERNAL" && cause instanceof Error ? `\n${cause.stack}` : "";
  const text = `error[${error.code}]: ${error.message}\n  ${error.hint}${stack}\n`;
  process.stderr.write(printableLines(redactText(text)));
  process.exit(ERRORS[error.code].exit);
}

process.on("uncaughtException", fail);
process.on("unhandledRejection", fail);
main().then(() => process.exit(0), fail);
