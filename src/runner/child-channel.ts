import { Socket } from "node:net";
import { LIMITS } from "../model/limits.ts";
import { createFrameReader, encodeFrame } from "./frames.ts";
import type { FromRunner, ToRunner } from "./protocol.ts";

/** The runner's end of the channel to its server. */
export type ChildChannel = { send(message: FromRunner): void };

/** CHANNEL_FD of protocol.ts, which a runner does not load. */
const FD = 3;

/** Opens the channel. When the server's end closes, this whole process group ends (P-1). */
export function openChildChannel(onMessage: (message: ToRunner) => void): ChildChannel {
  const socket = new Socket({ fd: FD, readable: true, writable: true });
  const reader = createFrameReader(
    LIMITS.runnerMessage,
    (text) => onMessage(JSON.parse(text) as ToRunner),
    endGroup,
  );
  socket.on("data", reader.push);
  socket.on("error", endGroup);
  socket.on("close", endGroup);
  return {
    send: (message) => {
      socket.write(encodeFrame(message));
    },
  };
}

function endGroup(): never {
  try {
    process.kill(-process.pid, "SIGKILL");
  } catch {
    // Started by hand, so not the leader of a group of its own.
  }
  process.exit(1);
}
