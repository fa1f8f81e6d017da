import { toPiWorkflowsError } from "../model/errors.ts";
import { isTerminalError } from "../resource-managers/results.ts";
import { messageOf } from "./message.ts";
import type { PassHost } from "./port.ts";
import type { HostCall, ToRunner, WireError } from "./protocol.ts";

/** Makes one call of a runner on its pass's host. Never rejects: an error is a reply too. */
export async function answerCall(
  host: PassHost,
  call: HostCall,
): Promise<Extract<ToRunner, { type: "reply" }>> {
  try {
    const value = await dispatch(host, call);
    return { type: "reply", id: call.id, ok: true, value };
  } catch (error) {
    return { type: "reply", id: call.id, ok: false, error: toWire(error) };
  }
}

function dispatch(host: PassHost, call: HostCall): Promise<unknown> {
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
  }
}

function toWire(error: unknown): WireError {
  return isTerminalError(error)
    ? { kind: "terminal", message: messageOf(error) }
    : { kind: "error", error: toPiWorkflowsError(error).toJSON() };
}
