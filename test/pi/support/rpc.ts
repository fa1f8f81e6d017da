import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import type { InstalledPi } from "./installed.ts";
import type { PiMachine } from "./machine.ts";

/** A record of Pi's RPC mode, as it came. */
export type PiRecord = { type: string } & Record<string, unknown>;
type Match = (record: PiRecord) => boolean;

/** Answers a dialog of an extension; undefined leaves it open. */
export type Person = (request: PiRecord) => Record<string, unknown> | undefined;

export type PiRpcOptions = {
  pi: InstalledPi;
  machine: PiMachine;
  /** Beside `--mode rpc --no-session`. */
  args?: string[];
  /** Keeps the session in its file. */
  keepSession?: boolean;
  env?: Record<string, string>;
  person?: Person;
};

/** Pi in RPC mode, driven as an editor would. */
export class PiRpc {
  readonly records: PiRecord[] = [];
  /** What it wrote to standard error. */
  stderr = "";
  readonly process: ChildProcessWithoutNullStreams;
  /** Resolves with the signal or code by which Pi ended. */
  readonly ended: Promise<string | number | null>;
  #end: string | number | null | undefined;
  #calls = 0;
  readonly #looks = new Set<() => void>();

  constructor({ pi, machine, args = [], keepSession, env = {}, person }: PiRpcOptions) {
    const session = keepSession ? [] : ["--no-session"];
    this.process = spawn(pi.node, [pi.cli, "--mode", "rpc", ...session, ...args], {
      cwd: machine.project,
      env: { ...machine.env, ...env },
    });
    this.process.stderr.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    // Pi may end while something is written to it; its end tells.
    this.process.stdin.on("error", () => undefined);
    this.ended = new Promise((resolve) => {
      this.process.on("close", (code, signal) => {
        this.#end = signal ?? code;
        this.#look();
        resolve(this.#end);
      });
    });
    let rest = "";
    // Lines end with LF alone: Pi's texts may hold other separators, at which readline would cut.
    this.process.stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() as string;
      for (const line of lines) this.#take(JSON.parse(line) as PiRecord, person);
    });
  }

  write(record: object): void {
    this.process.stdin.write(`${JSON.stringify(record)}\n`);
  }

  /** The first record from the `from`th that matches, come or to come. @throws Error if Pi ends. */
  until(match: Match, from = 0): Promise<PiRecord> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const found = this.records.slice(from).find(match);
        if (!found && this.#end === undefined) return;
        this.#looks.delete(look);
        if (found) resolve(found);
        else reject(new Error(`Pi ended with ${this.#end}; wanted ${match}\n${this.stderr}`));
      };
      this.#looks.add(look);
      look();
    });
  }

  /** Sends a command and awaits its response's data. @throws Error where Pi refuses it. */
  async call(command: { type: string } & Record<string, unknown>): Promise<unknown> {
    this.#calls += 1;
    const id = `call-${this.#calls}`;
    this.write({ id, ...command });
    const response = await this.until((record) => record.type === "response" && record.id === id);
    if (response.success !== true) throw new Error(`${command.type}: ${String(response.error)}`);
    return response.data;
  }

  /** Sends a prompt and awaits the end of all that follows; slash commands are awaited by it too. */
  async prompt(message: string): Promise<PiRecord[]> {
    const from = this.records.length;
    const data = (await this.call({ type: "prompt", message })) as
      | { disposition?: string }
      | undefined;
    // Pi 0.73 does not say how it took the message: a command has then been run when it answers.
    const handled = data?.disposition === "handled" || (!data && message.startsWith("/"));
    if (!handled) {
      const settled = data ? "agent_settled" : "agent_end";
      await this.until((record) => record.type === settled, from);
    }
    return this.records.slice(from);
  }

  /** Ends Pi as an editor does, by closing its input. */
  async close(): Promise<string | number | null> {
    this.process.stdin.end();
    return this.ended;
  }

  #take(record: PiRecord, person: Person | undefined): void {
    this.records.push(record);
    const answer = record.type === "extension_ui_request" ? person?.(record) : undefined;
    if (answer) this.write({ type: "extension_ui_response", id: record.id, ...answer });
    this.#look();
  }

  #look(): void {
    for (const look of this.#looks) look();
  }
}

/** Starts Pi and awaits that it answers; it ends with the test. */
export async function startPi(
  test: { onTestFinished: (clean: () => Promise<void>) => void },
  options: PiRpcOptions,
): Promise<PiRpc> {
  const pi = new PiRpc(options);
  test.onTestFinished(async () => {
    pi.process.kill("SIGKILL");
    await pi.ended;
  });
  await pi.call({ type: "get_state" });
  return pi;
}
