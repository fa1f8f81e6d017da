import { PiWorkflowsError } from "../model/errors.ts";
import { byteLength, LIMITS } from "../model/limits.ts";
import type { LogFields } from "../model/ports.ts";
import { TerminalError } from "../resource-managers/results.ts";
import type { ChildChannel } from "./child-channel.ts";
import type { PassHost } from "./port.ts";
import type { HostCall, ToRunner, WireError } from "./protocol.ts";
import type { RunHost } from "./run-port.ts";

type Reply = Extract<ToRunner, { type: "reply" }>;
type Waiting = { resolve(value: unknown): void; reject(error: unknown): void };

/** The server as one pass in this process sees it, be it of a resource or of a run. */
export type ChildHost = PassHost & Omit<RunHost, keyof PassHost> & { onReply(reply: Reply): void };

/** Makes the host of pass number `pass`: each call is a message, its answer settles the promise. */
export function createChildHost(channel: ChildChannel, pass: number): ChildHost {
  const waiting = new Map<number, Waiting>();
  const log = createPassLog(channel, pass);
  let lastId = 0;

  const call = <T>(message: Pick<HostCall, "method" | "params">): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      lastId += 1;
      channel.send({ type: "call", pass, id: lastId, ...message } as HostCall);
      waiting.set(lastId, { resolve, reject });
    });

  return {
    beginEffect: (params) => call({ method: "beginEffect", params }),
    settleEffect: (params) => call({ method: "settleEffect", params }),
    setFinalizer: (name, present) => call({ method: "setFinalizer", params: { name, present } }),
    emitEvent: (params) => call({ method: "emitEvent", params }),
    ensureWorkflow: (params) => call({ method: "ensureWorkflow", params }),
    getWorkflow: (requestKey) => call({ method: "getWorkflow", params: { requestKey } }),
    cancelWorkflow: (requestKey) => call({ method: "cancelWorkflow", params: { requestKey } }),
    readJournal: (after, limit) => call({ method: "readJournal", params: { after, limit } }),
    appendJournal: (entries) => call({ method: "appendJournal", params: { entries } }),
    appendRunLog: (entries) => call({ method: "appendRunLog", params: { entries } }),
    runOrders: () => call({ method: "runOrders", params: {} }),
    askAgent: (params) => call({ method: "askAgent", params }),
    closeAgent: (conversation) => call({ method: "closeAgent", params: { conversation } }),
    log,
    onReply(reply) {
      const call = waiting.get(reply.id);
      waiting.delete(reply.id);
      if (reply.ok) call?.resolve(reply.value);
      else call?.reject(fromWire(reply.error));
    },
  };
}

/** Sends what a pass logs until it has used up its share, so that no author can flood the server. */
function createPassLog(channel: ChildChannel, pass: number): PassHost["log"] {
  let left: number = LIMITS.childOutput;
  return (level, message, fields) => {
    if (left <= 0) return;
    const sent = sendable(fields);
    left -= byteLength(message) + (sent?.bytes ?? 0) + 1;
    if (left <= 0) {
      channel.send({ type: "log", pass, level: "warn", message: "log of this pass cut" });
      return;
    }
    channel.send({
      type: "log",
      pass,
      level,
      message,
      ...(sent === undefined ? {} : { fields: sent.fields }),
    });
  };
}

function sendable(fields: LogFields | undefined): { fields: LogFields; bytes: number } | undefined {
  if (fields === undefined) return undefined;
  try {
    const bytes = byteLength(JSON.stringify(fields));
    return bytes <= LIMITS.message ? { fields, bytes } : tooMuch(`${bytes} bytes`);
  } catch {
    return tooMuch("not JSON");
  }
}

function tooMuch(why: string): { fields: LogFields; bytes: number } {
  return { fields: { fieldsLeftOut: why }, bytes: 0 };
}

function fromWire(error: WireError): Error {
  return error.kind === "terminal"
    ? new TerminalError(error.message)
    : PiWorkflowsError.fromJSON(error.error);
}
