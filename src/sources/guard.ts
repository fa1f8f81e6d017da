import { truncate } from "../model/limits.ts";
import { tame } from "../model/thrown.ts";
import { swapProperty } from "./swap-property.ts";

/** Something that project code did besides returning a value. */
export type Misdeed = {
  kind: "wrote" | "exited" | "rejected" | "crashed";
  message: string;
  /** The stack at that moment. */
  stack: string;
};

/** Watches the process while project code is evaluated in it. */
export type ProcessGuard = {
  /** What happened since the last call. */
  take(): Misdeed[];
  /** Puts the process back as it was. */
  release(): void;
};

/** Thrown into code that tried to end the process; the guard has noted it. */
export class Refused extends Error {
  override name = "Refused";
}

/** More than this from one file says nothing new. */
const MAX_MISDEEDS = 20;

/**
 * Keeps project code from writing to the process's output and from ending it, and notes when it
 * tries to. Only one guard may be active.
 */
export function guardProcess(): ProcessGuard {
  let misdeeds: Misdeed[] = [];
  const note = (kind: Misdeed["kind"], message: string, stack?: string): void => {
    if (misdeeds.length >= MAX_MISDEEDS) return;
    misdeeds.push({ kind, message, stack: stack ?? new Error(message).stack ?? "" });
  };
  const restore = [
    guardStream(process.stdout, "standard output", note),
    guardStream(process.stderr, "standard error", note),
    guardExit(note),
    guardErrors(note),
  ];
  return {
    take() {
      const taken = misdeeds;
      misdeeds = [];
      return taken;
    },
    release: () => restore.forEach((undo) => undo()),
  };
}

type Note = (kind: Misdeed["kind"], message: string, stack?: string) => void;

function guardStream(stream: NodeJS.WriteStream, name: string, note: Note): () => void {
  return swapProperty(stream, "write", (chunk: unknown, ...rest: unknown[]): boolean => {
    const text = typeof chunk === "string" ? chunk : Buffer.from(chunk as Uint8Array).toString();
    const start = JSON.stringify(text.trimEnd().slice(0, 200));
    note("wrote", `wrote ${start} to ${name}; spec files only return data`);
    const done = rest.find((argument) => typeof argument === "function");
    if (done !== undefined) queueMicrotask(done as () => void);
    return true;
  });
}

function guardExit(note: Note): () => void {
  const undo = ["exit", "reallyExit", "abort"].map((name) =>
    swapProperty(process, name, (): never => {
      const message = `called process.${name}(); spec files only return data`;
      note("exited", message);
      throw new Refused(message);
    }),
  );
  return () => undo.forEach((restore) => restore());
}

function guardErrors(note: Note): () => void {
  const rejected = (reason: unknown) =>
    note("rejected", `left a rejected promise unhandled: ${textOf(reason)}`, stackOf(reason));
  const crashed = (thrown: unknown) =>
    note("crashed", `threw later, from a timer or callback: ${textOf(thrown)}`, stackOf(thrown));
  process.on("unhandledRejection", rejected);
  process.on("uncaughtException", crashed);
  return () => {
    process.off("unhandledRejection", rejected);
    process.off("uncaughtException", crashed);
  };
}

/** `TypeError: x is not a function`, for anything thrown; cut where it is long. */
export function textOf(value: unknown): string {
  const thrown = tame(value);
  if (thrown instanceof Error) return truncate(`${thrown.name}: ${thrown.message}`);
  return truncate(typeof thrown === "string" ? thrown : inspect(thrown));
}

export function stackOf(value: unknown): string {
  const thrown = tame(value);
  return thrown instanceof Error && typeof thrown.stack === "string" ? thrown.stack : "";
}

function inspect(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return "a value that can't be shown";
  }
}
