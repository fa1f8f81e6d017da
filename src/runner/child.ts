/**
 * The program of a runner: `child.js BUNDLE`. Loads one definition bundle, then runs passes of it,
 * one at a time, as its server asks. It imports little, because every runner pays for it.
 */
import { pathToFileURL } from "node:url";
import { format } from "node:util";
import { isResourceManager, type ResourceManager } from "../resource-managers/define.ts";
import { openChildChannel } from "./child-channel.ts";
import { createChildHost, type ChildHost } from "./child-host.ts";
import { liveChildProcesses, watchChildProcesses } from "./child-processes.ts";
import { mapKeys } from "./map-keys.ts";
import { messageOf } from "./message.ts";
import { failure, startPass } from "./pass.ts";
import type { FromRunner, ToRunner } from "./protocol.ts";

type Answer = Pick<Ended, "type" | "result">;
type Ended = Extract<FromRunner, { type: "result" | "mapped" }>;
type Current = {
  pass: number;
  host: ChildHost;
  controller: AbortController;
  /** How it ends where an error is thrown that nobody catches. */
  broken: (thrown: unknown) => Answer;
};

let manager: ResourceManager | undefined;
let current: Current | undefined;

const channel = openChildChannel((message) => {
  switch (message.type) {
    case "run":
      void run(message);
      break;
    case "map":
      void map(message);
      break;
    case "reply":
      current?.host.onReply(message);
      break;
    case "abort":
      if (current?.pass === message.pass) {
        current.controller.abort(
          new DOMException(`the pass ends: ${message.reason}`, "AbortError"),
        );
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
      if (current === undefined) plain(...values);
      else current.host.log(level, format(...values));
    };
  }
}

async function load(bundle: string): Promise<ResourceManager> {
  const loaded: unknown = await import(pathToFileURL(bundle).href);
  const definition = (loaded as { default?: unknown }).default;
  if (!isResourceManager(definition) || typeof definition.reconcile !== "function") {
    throw new Error("its default export is not what defineResourceManager returns");
  }
  return definition;
}

process.on("uncaughtException", onStray);
process.on("unhandledRejection", onStray);
redirectConsole();
watchChildProcesses();
process.setSourceMapsEnabled(true);
try {
  manager = await load(process.argv[2] ?? "");
  process.title = `pi-workflows runner ${manager.name}`;
  channel.send({ type: "ready" });
} catch (error) {
  channel.send({ type: "loadFailed", message: messageOf(error) });
}
