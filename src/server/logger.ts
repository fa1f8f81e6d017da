import { appendFileSync, writeSync } from "node:fs";
import type { Clock, Log, LogFields } from "../model/ports.ts";
import { redact, redactText } from "../model/redact.ts";
import { printableJson } from "../model/text.ts";
import { rotateLog } from "./log-file.ts";

type Level = "debug" | "info" | "warn" | "error";
const LEVELS: readonly Level[] = ["debug", "info", "warn", "error"];

// Long enough that a busy server writes many lines at once, short enough to follow.
const FLUSH_MS = 100;

export type LoggerOptions = {
  file: string;
  clock: Clock;
  /** Lines below it are dropped. Default `info`. */
  level?: Level;
  /** Also writes each line to standard error. */
  echo?: boolean;
};

/** A log with an end: `close` writes what is still held. */
export type Logger = Log & { flush(): void; close(): void };

/**
 * The one writer of logs: JSON lines with time, level, message and fields, credentials redacted.
 * A log that can't be written never stops the server; lines are dropped and counted instead.
 */
export function createLogger(options: LoggerOptions): Logger {
  const lowest = LEVELS.indexOf(options.level ?? "info");
  let held: string[] = [];
  let dropped = 0;
  let cancel: (() => void) | undefined;

  const flush = (): void => {
    cancel?.();
    cancel = undefined;
    if (held.length === 0) return;
    const lines = held;
    held = [];
    try {
      rotateLog(options.file);
      appendFileSync(options.file, lines.join(""), { mode: 0o600 });
    } catch {
      dropped += lines.length;
    }
  };

  const write = (level: Level, message: string, fields: LogFields = {}): void => {
    if (LEVELS.indexOf(level) < lowest) return;
    const time = new Date(options.clock.now()).toISOString();
    const lost = dropped === 0 ? {} : { linesLost: dropped };
    const head = { time, level, message: redactText(message) };
    const line = `${lineOf(head, { ...fields, ...lost })}\n`;
    dropped = 0;
    held.push(line);
    if (options.echo) echo(line);
    cancel ??= options.clock.schedule(flush, FLUSH_MS);
  };

  return {
    debug: (message, fields) => write("debug", message, fields),
    info: (message, fields) => write("info", message, fields),
    warn: (message, fields) => write("warn", message, fields),
    error: (message, fields) => write("error", message, fields),
    flush,
    close: flush,
  };
}

function lineOf(head: object, fields: LogFields): string {
  try {
    return printableJson({ ...head, ...(redact(plain(fields)) as LogFields) });
  } catch {
    return JSON.stringify({ ...head, fields: "could not be written" });
  }
}

// Errors have no enumerable members, and JSON can't hold every value a caller may pass.
function plain(fields: LogFields): LogFields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      value instanceof Error
        ? { name: value.name, message: value.message, ...codeOf(value) }
        : typeof value === "bigint"
          ? String(value)
          : value,
    ]),
  );
}

function codeOf(error: Error): { code?: unknown } {
  return "code" in error ? { code: error.code } : {};
}

function echo(line: string): void {
  try {
    writeSync(process.stderr.fd, line);
  } catch {
    // A closed terminal must not stop the server.
  }
}
