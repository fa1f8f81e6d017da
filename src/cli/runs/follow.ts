import { PiWorkflowsError } from "../../model/errors.ts";
import { LIMITS } from "../../model/limits.ts";
import { hasEnded, type RunSummary } from "../../model/run.ts";
import type { Client } from "../../server/protocol.ts";
import type { Cli } from "../invocation.ts";
import { sleep } from "../sleep.ts";
import { span } from "../time.ts";
import { readJournal } from "./details.ts";
import { shortId } from "./ids.ts";
import { Progress } from "./progress.ts";

/** The journal is looked at this often: a run tells of itself only when its state changes. */
const TICK_MS = 1_000;

/**
 * Shows what a run does until it has ended or waits for a person. Undefined where Ctrl-C came first:
 * the run goes on.
 * @throws PiWorkflowsError WAIT_TIMEOUT, NOT_FOUND, SERVER_UNREACHABLE
 */
export async function followRun(
  cli: Cli,
  client: Client,
  run: RunSummary,
  timeoutMs: number | undefined,
): Promise<RunSummary | undefined> {
  const over = new AbortController();
  const timer =
    timeoutMs === undefined ? undefined : setTimeout(() => over.abort(), clamp(timeoutMs));
  let timedOut = false;
  try {
    const stop = AbortSignal.any([cli.signal, over.signal]);
    const end = await followUntil(cli, client, run, stop);
    if (end !== undefined || cli.signal.aborted) return end;
    timedOut = over.signal.aborted;
  } finally {
    clearTimeout(timer);
    cli.output.status("");
  }
  if (timedOut) throw timeout(run, timeoutMs ?? 0);
  throw serverGone(run);
}

function serverGone(run: RunSummary, cause?: unknown): PiWorkflowsError {
  const id = shortId(run.runId);
  return new PiWorkflowsError("SERVER_UNREACHABLE", "the server has ended", {
    hint: `Run ${id} goes on when it starts again: \`pi-workflows run wait ${id}\` starts it and waits on.`,
    cause,
  });
}

/** As `followRun`; undefined where `signal` aborted or the server stopped. */
async function followUntil(
  cli: Cli,
  client: Client,
  run: RunSummary,
  signal: AbortSignal,
): Promise<RunSummary | undefined> {
  const view = new View(cli, client, run.runId);
  const done = new AbortController();
  // That the server is gone, the stream tells too.
  const ticking = tickUntil(AbortSignal.any([signal, done.signal]), view).catch(() => undefined);
  try {
    for await (const item of client.watchRuns({ prefix: run.runId }, signal)) {
      if (item.kind === "removed") throw gone(run);
      if (item.kind === "listed") continue;
      await view.look(item.run);
      if (isAtRest(item.run) && !(await isDue(client, item.run))) return item.run;
    }
    return undefined;
  } catch (thrown) {
    const isGone = thrown instanceof PiWorkflowsError && thrown.code === "SERVER_UNREACHABLE";
    throw isGone ? serverGone(run, thrown) : thrown;
  } finally {
    done.abort();
    await ticking;
  }
}

/** Whether nothing happens to a run until a person does something. */
export function isAtRest(run: RunSummary): boolean {
  if (hasEnded(run)) return true;
  return !run.cancelling && (run.state === "waiting" || run.state === "interrupted");
}

/** Whether a person has spoken, so that a runner will look at it: it is at rest no more. */
async function isDue(client: Client, { runId, state }: RunSummary): Promise<boolean> {
  if (state !== "waiting" && state !== "interrupted") return false;
  const [entry] = await client.queue({ uid: runId });
  return entry !== undefined && (entry.claimed || entry.readyAt <= Date.now());
}

/** The journal as far as it was shown. */
class View {
  readonly #cli: Cli;
  readonly #client: Client;
  readonly #runId: string;
  readonly #progress: Progress;
  #seen = 0;
  #isWorkedOn = false;
  #last: Promise<void> = Promise.resolve();

  constructor(cli: Cli, client: Client, runId: string) {
    this.#cli = cli;
    this.#client = client;
    this.#runId = runId;
    this.#progress = new Progress(cli.output);
  }

  /** Shows what was written since; one look at a time, so that no line is shown twice. */
  look(run?: RunSummary): Promise<void> {
    if (run) this.#isWorkedOn = run.claimedAt !== undefined;
    this.#last = this.#last.then(() => this.#read());
    return this.#last;
  }

  async #read(): Promise<void> {
    const entries = await readJournal(this.#client, this.#runId, { after: this.#seen });
    this.#seen = entries.at(-1)?.sequence ?? this.#seen;
    this.#progress.see(entries);
    if (!this.#cli.signal.aborted)
      this.#progress.tick(Date.now(), this.#isWorkedOn ? "working" : "waiting for a runner");
  }
}

async function tickUntil(signal: AbortSignal, view: View): Promise<void> {
  while (!signal.aborted) {
    await sleep(TICK_MS, signal);
    if (!signal.aborted) await view.look();
  }
}

function clamp(timeoutMs: number): number {
  return Math.min(timeoutMs, LIMITS.maxTimerMs);
}

function gone({ runId }: RunSummary): PiWorkflowsError {
  return new PiWorkflowsError("NOT_FOUND", `run ${runId} is gone`);
}

function timeout({ runId, workflow }: RunSummary, timeoutMs: number): PiWorkflowsError {
  const id = shortId(runId);
  return new PiWorkflowsError(
    "WAIT_TIMEOUT",
    `run ${id} of ${workflow} has not ended within ${span(timeoutMs)}`,
    {
      hint: `It goes on: \`pi-workflows run show ${id}\`; \`pi-workflows run wait ${id}\` waits on.`,
    },
  );
}
