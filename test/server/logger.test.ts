import { readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { PiWorkflowsError } from "../../src/model/errors.ts";
import { LOG_ROTATE_BYTES } from "../../src/server/log-file.ts";
import { createLogger } from "../../src/server/logger.ts";
import { systemClock } from "../../src/model/clock.ts";
import { tempFolder } from "./temp.ts";

function logTo(file: string) {
  const logger = createLogger({ file, clock: systemClock });
  const lines = () =>
    readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { logger, lines };
}

it("writes one JSON line per message, private to this user", () => {
  const file = path.join(tempFolder(), "server.log");
  const { logger, lines } = logTo(file);
  logger.info("Reconciled", { key: "a", durationMs: 3 });
  logger.debug("not written by default");
  logger.close();
  expect(lines()).toEqual([
    { time: expect.any(String), level: "info", message: "Reconciled", key: "a", durationMs: 3 },
  ]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

it("masks credentials wherever they stand", () => {
  const file = path.join(tempFolder(), "server.log");
  const { logger } = logTo(file);
  const token = `ghp_${"a".repeat(36)}`;
  logger.warn(`message with ${token}`, {
    token: "short",
    nested: { header: `Bearer ${token}` },
    error: new Error(`failed with ${token}`),
  });
  logger.close();
  expect(readFileSync(file, "utf8")).not.toContain(token);
  expect(readFileSync(file, "utf8")).not.toContain("short");
});

it("writes what an error says, and never a stack", () => {
  const file = path.join(tempFolder(), "server.log");
  const { logger, lines } = logTo(file);
  logger.error("failed", { error: new PiWorkflowsError("STORE_FULL", "no room") });
  logger.close();
  expect(lines()[0]?.["error"]).toMatchObject({ code: "STORE_FULL", message: "no room" });
  expect(readFileSync(file, "utf8")).not.toContain("at ");
});

it("survives fields that JSON can't hold", () => {
  const file = path.join(tempFolder(), "server.log");
  const { logger, lines } = logTo(file);
  const circular: Record<string, unknown> = {};
  circular["self"] = circular;
  logger.info("circular", { circular });
  logger.info("big", { size: 10n });
  logger.close();
  expect(lines().map(({ message }) => message)).toEqual(["circular", "big"]);
});

it("sets a log that has grown too large aside, and keeps one", () => {
  const file = path.join(tempFolder(), "server.log");
  writeFileSync(file, "x".repeat(LOG_ROTATE_BYTES + 1));
  writeFileSync(`${file}.1`, "older");
  const { logger, lines } = logTo(file);
  logger.info("fresh");
  logger.close();
  expect(lines()).toHaveLength(1);
  expect(statSync(`${file}.1`).size).toBe(LOG_ROTATE_BYTES + 1);
});
