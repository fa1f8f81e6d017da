import { fork, type ChildProcess } from "node:child_process";
import { mkdirSync } from "node:fs";
import { SERVER_FLAGS } from "../src/model/installation.ts";
import { connect, type Client } from "../src/server/index.ts";
import { COMMAND, program, runNode } from "./processes.ts";
import { check } from "./harness.ts";
import { writeJsonSpec, type Project } from "./project.ts";

export type HostRequest = { kind: "expect"; settles: number } | { kind: "report" | "stop" };

/** What a host counted since it was last told to expect something. */
export type HostReport = {
  kind: "report";
  commits: number;
  settles: number;
  /** Blocks of its event loop, milliseconds. */
  blocks: { p99: number; max: number };
  /** Resident size, bytes. */
  rss: number;
  /** `clock()` at which it was made. */
  at: number;
};
type Message = HostReport | { kind: "ready" | "armed" | "stopped" };

/** Milliseconds by the clock that all processes of a machine share. */
export function clock(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** A server process that counts what it does; see programs/host.ts. */
export class Host {
  readonly client: Client;
  readonly pid: number;
  readonly #child: ChildProcess;

  constructor(child: ChildProcess, client: Client) {
    this.#child = child;
    this.client = client;
    this.pid = child.pid as number;
  }

  /** Counts from now on; the promise in what is returned resolves when so many passes are settled. */
  async expect(settles: number): Promise<{ done: Promise<HostReport> }> {
    const armed = next(this.#child, "armed");
    this.#send({ kind: "expect", settles });
    await armed;
    return { done: next(this.#child, "report") as Promise<HostReport> };
  }

  async report(): Promise<HostReport> {
    const answer = next(this.#child, "report");
    this.#send({ kind: "report" });
    return (await answer) as HostReport;
  }

  /** Enqueues every resource of the project's manager and waits for their passes. */
  async reconcileAll(project: Project, count: number): Promise<{ ms: number; report: HostReport }> {
    const { done } = await this.expect(count);
    const begun = clock();
    const marked = await this.client.reconcile({
      project: project.root,
      resourceManager: "widget",
    });
    const report = await done;
    check(marked === count, `${count} keys are enqueued, not ${marked}`);
    return { ms: report.at - begun, report };
  }

  /** Nothing is left in the queue, and no pass has failed. */
  async checkSettled(): Promise<void> {
    const { lanes, passes } = await this.client.status();
    for (const { ready, running, nextReadyAt } of lanes) {
      check(ready === 0 && running === 0 && nextReadyAt === undefined, "the queue is empty");
    }
    check(passes.failed === 0, `no pass failed, but ${passes.failed}`);
  }

  async stop(): Promise<void> {
    const gone = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#send({ kind: "stop" });
    await this.client.close();
    await gone;
  }

  #send(request: HostRequest): void {
    this.#child.send(request);
  }
}

export async function startHost(project: Project, concurrency: number): Promise<Host> {
  return (await startAndExpect(project, concurrency, Number.MAX_SAFE_INTEGER)).host;
}

/** Starts a host that reports when so many passes are settled. */
export async function startAndExpect(
  project: Project,
  concurrency: number,
  settles: number,
): Promise<{ host: Host; done: Promise<HostReport> }> {
  mkdirSync(project.home, { recursive: true });
  const child = fork(program("host"), [project.home, String(concurrency), String(settles)], {
    cwd: project.root,
    execArgv: [...SERVER_FLAGS],
  });
  const done = next(child, "report") as Promise<HostReport>;
  done.catch(() => undefined);
  await next(child, "ready");
  return { host: new Host(child, await connect({ home: project.home })), done };
}

/** Writes `count` JSON specs and applies them with the command line; waits until all are settled. */
export async function applySpecs(host: Host, project: Project, count: number): Promise<HostReport> {
  for (let index = 0; index < count; index += 1) writeJsonSpec(project, index);
  const { done } = await host.expect(count);
  await runNode([COMMAND, "apply", "-f", project.specs], { cwd: project.root, env: project.env });
  const report = await done;
  await host.checkSettled();
  return report;
}

function next(child: ChildProcess, kind: Message["kind"]): Promise<Message> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: Message): void => {
      if (message.kind !== kind) return;
      child.off("message", onMessage);
      child.off("exit", onExit);
      resolve(message);
    };
    const onExit = (code: number | null): void =>
      reject(new Error(`the host ended with ${code} before it said ${kind}`));
    child.on("message", onMessage);
    child.once("exit", onExit);
  });
}
