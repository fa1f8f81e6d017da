import path from "node:path";
import { PiWorkflowsError } from "../model/errors.ts";
import { projectOf } from "../sources/project.ts";
import type { Client } from "../server/protocol.ts";
import type { StoreReader } from "../store/store.ts";
import { stateFolder, type Cli } from "./invocation.ts";
import { createOutput } from "./output.ts";
import type { Options } from "./verb.ts";

/** What every verb takes. */
export type GlobalOptions = {
  project?: string;
  output?: string;
  verbose?: boolean;
  color?: boolean;
};

/** What a shell reports of a command that Ctrl-C ended: 128 and the number of SIGINT. */
const INTERRUPTED = 130;

/**
 * Runs an action with the facts and services of one run of the command line, closes what it opened,
 * however it ends, and returns the exit code.
 */
export async function withSession(
  options: Options & GlobalOptions,
  command: string,
  action: (cli: Cli) => Promise<number | void>,
): Promise<number> {
  changeDirectory(options.project);
  const interrupt = new AbortController();
  const onInterrupt = () => interrupt.abort();
  const opened: Opened = [];
  process.once("SIGINT", onInterrupt);
  try {
    const code = await action(createCli(options, { command, signal: interrupt.signal, opened }));
    return code ?? (interrupt.signal.aborted ? INTERRUPTED : 0);
  } catch (thrown) {
    if (interrupt.signal.aborted && !wroteBefore(thrown)) return INTERRUPTED;
    throw thrown;
  } finally {
    process.off("SIGINT", onInterrupt);
    for (const resource of opened) await resource.close();
  }
}

type Opened = { close(): Promise<void> | void }[];

function createCli(
  options: GlobalOptions,
  run: { command: string; signal: AbortSignal; opened: Opened },
): Cli {
  const home = stateFolder();
  const { command, signal, opened } = run;
  let reader: Promise<StoreReader> | undefined;
  return {
    project: projectOf(process.cwd()),
    home,
    output: createOutput({ format: options.output ?? "table", color: options.color !== false }),
    command,
    signal,
    reader: () => (reader ??= openReaderOf(home, opened)),
    client: ((how: { start?: boolean; anyVersion?: boolean } = {}) =>
      openClient({ home, start: true, ...how }, opened)) as Cli["client"],
  };
}

/** An apply that was interrupted says what it had written. */
function wroteBefore(thrown: unknown): boolean {
  return thrown instanceof PiWorkflowsError && thrown.details?.["receipt"] !== undefined;
}

function changeDirectory(directory: string | undefined): void {
  if (directory === undefined) return;
  try {
    process.chdir(directory);
  } catch (cause) {
    throw new PiWorkflowsError("USAGE", `-C ${directory}: there is no such folder`, {
      hint: "Give the path of a project folder.",
      cause,
    });
  }
}

async function openReaderOf(home: string, opened: Opened): Promise<StoreReader> {
  const { openReader } = await import("../store/sqlite/reader.ts");
  const reader = openReader(path.join(home, "state.sqlite"));
  opened.push(reader);
  return reader;
}

async function openClient(
  how: { home: string; start: boolean; anyVersion?: boolean },
  opened: Opened,
): Promise<Client | undefined> {
  const { connect } = await import("../server/client.ts");
  try {
    const client = await connect(how);
    opened.push(client);
    return client;
  } catch (thrown) {
    const absent = thrown instanceof PiWorkflowsError && thrown.code === "SERVER_UNREACHABLE";
    if (absent && !how.start) return undefined;
    throw thrown;
  }
}
