import { byteLength, LIMITS } from "../model/limits.ts";
import { PiWorkflowsError, toPiWorkflowsError } from "../model/errors.ts";
import type { JournalEntry } from "../model/run.ts";
import { isTerminalError } from "../resource-managers/results.ts";
import { messageOf } from "./message.ts";
import type { PassHost } from "./port.ts";
import type { HostCall, RunCall, ToRunner, WireError } from "./protocol.ts";
import type { RunHost } from "./run-port.ts";

/** Makes one call of a pass of a resource. Never rejects: an error is a reply too. */
export function answerCall(host: PassHost, call: HostCall): Promise<Reply> {
  return reply(call, () => ofPass(host, call));
}

/** Makes one call of a pass of a run, in the same way. Calls are begun in the order of their arrival. */
export function answerRunCall(host: RunHost, call: HostCall): Promise<Reply> {
  return reply(call, () => ofRun(host, call as RunCall));
}

type Reply = Extract<ToRunner, { type: "reply" }>;

async function reply({ id }: HostCall, make: () => Promise<unknown>): Promise<Reply> {
  try {
    return { type: "reply", id, ok: true, value: await make() };
  } catch (error) {
    return { type: "reply", id, ok: false, error: toWire(error) };
  }
}

function ofPass(host: PassHost, call: HostCall): Promise<unknown> {
  switch (call.method) {
    case "beginEffect":
      return host.beginEffect(call.params);
    case "settleEffect":
      return host.settleEffect(call.params);
    case "setFinalizer":
      return host.setFinalizer(call.params.name, call.params.present);
    case "emitEvent":
      return host.emitEvent(call.params);
    case "ensureWorkflow":
      return host.ensureWorkflow(call.params);
    case "getWorkflow":
      return host.getWorkflow(call.params.requestKey);
    case "cancelWorkflow":
      return host.cancelWorkflow(call.params.requestKey);
    default:
      return notOffered(call);
  }
}

async function ofRun(host: RunHost, call: RunCall): Promise<unknown> {
  switch (call.method) {
    case "beginEffect":
      return host.beginEffect(call.params);
    case "settleEffect":
      return host.settleEffect(call.params);
    case "readJournal":
      return fitting(await host.readJournal(call.params.after, call.params.limit));
    case "appendJournal":
      return host.appendJournal(call.params.entries);
    case "appendRunLog":
      return host.appendRunLog(call.params.entries);
    case "runOrders":
      return host.runOrders();
    case "askAgent":
      return host.askAgent(call.params);
    case "closeAgent":
      return host.closeAgent(call.params.conversation);
    default:
      return notOffered(call);
  }
}

/** So much of a page as fits into one message: the runner asks for what follows. */
function fitting(page: JournalEntry[]): JournalEntry[] {
  let bytes = 0;
  const end = page.findIndex((entry) => {
    bytes += byteLength(JSON.stringify(entry));
    return bytes > LIMITS.journalInFlight;
  });
  return end === -1 ? page : page.slice(0, Math.max(1, end));
}

function notOffered({ method }: HostCall): Promise<never> {
  const message = `${method} is not offered to this kind of pass`;
  return Promise.reject(new PiWorkflowsError("BAD_REQUEST", message));
}

function toWire(error: unknown): WireError {
  return isTerminalError(error)
    ? { kind: "terminal", message: messageOf(error) }
    : { kind: "error", error: toPiWorkflowsError(error).toJSON() };
}
