/**
 * The program of a runner: `child.js BUNDLE`. Loads one definition bundle, of a resource manager or of
 * a workflow, then runs passes of it, one at a time, as its server asks. It imports little, because
 * every runner pays for it: what executes workflows is loaded where there is one.
 */
import { pathToFileURL } from "node:url";
import { format } from "node:util";
import { systemClock } from "../model/clock.ts";
import { isResourceManager, type ResourceManager } from "../resource-managers/define.ts";
import type { CompiledWorkflow } from "../workflows/compiled.ts";
import { isWorkflow } from "../workflows/define.ts";
import { openChildChannel } from "./child-channel.ts";
import { createChildHost, type ChildHost } from "./child-host.ts";
import { liveChildProcesses, watchChildProcesses } from "./child-processes.ts";
import { mapKeys } from "./map-keys.ts";
import { messageOf } from "./message.ts";
import { failure, startPass } from "./pass.ts";
import type { FromRunner, ToRunner } from "./protocol.ts";
import type * as engine from "./run/index.ts";
import type { RunNotice } from "./run-port.ts";

type Answer = Pick<Ended, "type" | "result">;
type Ended = Extract<FromRunner, { type: "result" | "executed" | "mapped" }>;
type Current = {
  pass: number;
  host: ChildHost;
  controller: AbortController;
  /** How it ends where an error is thrown that nobody catches. */
  broken: (thrown: unknown) => Answer;
  /** Of a run: what its engine wants to be told. */
  onNotice?: (notice: RunNotice) => void;
  onUncaught?: (thrown: unknown) => void;
  /** True where something of it may run on. */
  isSpent?: boolean;
};

let manager: ResourceManager | undefined;
let workflow: { compiled: CompiledWorkflow; engine: typeof engine } | undefined;
let current: Current | undefined;

const channel = openChildChannel((message) => {
  switch (message.type) {
    case "run":
      void run(message);
      break;
    case "execute":
      void execute(message);
      break;
    case "map":
      void map(message);
      break;
    case "ping":
      channel.send({ type: "pong", pass: message.pass });
      break;
    case "notice":
      if (current?.pass === message.pass) current.onNotice?.(message.notice);
      break;
    case "reply":
      current?.host.onReply(message);
      break;
    case "abort":
      if (current?.pass === message.pass) {
        // The engine of a run asks for the fault; what authors are given says it in words.
        const reason =
          workflow === undefined
            ? new DOMException(`the pass ends: ${message.reason}`, "AbortError")
            : message.reason;
        current.controller.abort(reason);
      }
      break;
  }
});

async function run({ pass, request }: Extract<ToRunner, { type: "run" }>): Promise<void> {
  const { host, controller } = begin(pass, (thrown) => ({
    type: "result",
    result: { ...failure(thrown), terminal: false },
  }));
  const options = { pass: request, host, signal: controller.signal, now: Date.now };
  const { result } = startPass(manager as ResourceManager, options);
  finish(pass, { type: "result", result: await result }, false);
}

async function execute({ pass, request }: Extract<ToRunner, { type: "execute" }>): Promise<void> {
  const { compiled, engine: runs } = workflow as NonNullable<typeof workflow>;
  const run = begin(pass, (thrown) => ({
    type: "executed",
    result: { ...failure(thrown), terminal: false },
  }));
  const outcome = await runs.executeRun({
    workflow: compiled,
    pass: request,
    host: run.host,
    control: {
      signal: run.controller.signal,
      onNotice: (listen) => (run.onNotice = listen),
      onUncaught: (listen) => (run.onUncaught = listen),
    },
    clock: systemClock,
    onWatch: (attempt) => channel.send({ type: "watch", pass, attempt }),
    onStray: () => (run.isSpent = true),
  });
  const result =
    outcome.kind === "crashed"
      ? { kind: "failed" as const, message: outcome.message, terminal: false }
      : outcome;
  finish(pass, { type: "executed", result }, run.isSpent === true);
}

async function map({ pass, request }: Extract<ToRunner, { type: "map" }>): Promise<void> {
  begin(pass, (thrown) => ({
    type: "mapped",
    result: { kind: "invalid", message: messageOf(thrown) },
  }));
  const result = await mapKeys(manager as ResourceManager, request, process.env);
  finish(pass, { type: "mapped", result }, false);
}

/** Set before the author's code runs: what that throws or prints must find its pass. */
function begin(pass: number, broken: Current["broken"]): Current {
  const host = createChildHost(channel, pass);
  current = { pass, host, controller: new AbortController(), broken };
  return current;
}

/** Reports the end of a pass or a map, once. */
function finish(pass: number, answer: Answer, broken: boolean): void {
  if (current?.pass !== pass) return;
  current = undefined;
  const retire = broken || liveChildProcesses() > 0;
  const rss = process.memoryUsage.rss();
  channel.send({ ...answer, pass, rss, retire } as Ended);
}

/** An error that nobody caught fails its pass; what is left of the pass ends with this process. */
function onStray(thrown: unknown): void {
  if (current?.onUncaught !== undefined) {
    current.isSpent = true;
    current.onUncaught(thrown);
    return;
  }
  if (current !== undefined) {
    finish(current.pass, current.broken(thrown), true);
    return;
  }
  console.error("an error after the pass had ended:", thrown);
  process.exit(1);
}

function redirectConsole(): void {
  const levels = {
    debug: "debug",
    log: "info",
    info: "info",
    warn: "warn",
    error: "error",
  } as const;
  for (const [name, level] of Object.entries(levels)) {
    const plain = console[name as keyof typeof levels].bind(console);
    console[name as keyof typeof levels] = (...values: unknown[]) => {
      if (current === undefined) return plain(...values);
      const text = format(...values);
      const print = workflow?.engine.attemptLog();
      if (print) print(level, text);
      else current.host.log(level, text);
    };
  }
}

/** Loads the definition, and returns its name. */
async function load(bundle: string): Promise<string> {
  const loaded: unknown = await import(pathToFileURL(bundle).href);
  const definition = (loaded as { default?: unknown }).default;
  if (isWorkflow(definition)) {
    const runs = await import("./run/index.ts");
    workflow = { compiled: runs.compile(definition), engine: runs };
    return definition.name;
  }
  if (!isResourceManager(definition) || typeof definition.reconcile !== "function") {
    throw new Error(
      "its default export is not what defineResourceManager or defineWorkflow returns",
    );
  }
  manager = definition;
  return definition.name;
}

process.on("uncaughtException", onStray);
process.on("unhandledRejection", onStray);
redirectConsole();
watchChildProcesses();
process.setSourceMapsEnabled(true);
try {
  process.title = `pi-workflows runner ${await load(process.argv[2] ?? "")}`;
  channel.send({ type: "ready" });
} catch (error) {
  channel.send({ type: "loadFailed", message: messageOf(error) });
}
