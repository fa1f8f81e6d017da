import path from "node:path";
import { PiWorkflowsError } from "../model/errors.ts";
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

/**
 * Runs `use` with the facts and services of one run of the command line, and closes what it opened,
 * however it ends.
 */
export async function withSession<T>(
  options: Options & GlobalOptions,
  command: string,
  use: (cli: Cli) => Promise<T>,
): Promise<T> {
  changeDirectory(options.project);
  const { projectOf } = await import("../sources/project.ts");
  const home = stateFolder();
  const opened: { close(): Promise<void> | void }[] = [];
  const interrupt = new AbortController();
  const onInterrupt = () => interrupt.abort();
  process.once("SIGINT", onInterrupt);
  try {
    return await use({
      project: projectOf(process.cwd()),
      home,
      output: createOutput({ format: options.output ?? "table", color: options.color !== false }),
      verbose: options.verbose === true,
      command,
      signal: interrupt.signal,
      reader: () => openReaderOf(home, opened),
      client: ((how: { start?: boolean } = {}) =>
        openClient({ home, start: how.start ?? true }, opened)) as Cli["client"],
    });
  } finally {
    process.off("SIGINT", onInterrupt);
    for (const resource of opened) await resource.close();
  }
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

async function openReaderOf(
  home: string,
  opened: { close(): Promise<void> | void }[],
): Promise<StoreReader> {
  const { openReader } = await import("../store/sqlite/reader.ts");
  const reader = openReader(path.join(home, "state.sqlite"));
  opened.push(reader);
  return reader;
}

async function openClient(
  how: { home: string; start: boolean },
  opened: { close(): Promise<void> | void }[],
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
