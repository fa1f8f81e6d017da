import { statSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openReader } from "../../src/store/sqlite/reader.ts";
import { Driver, onTestEnd, PROJECT, sqliteStore } from "./support.ts";

const MIB = 1024 * 1024;

describe("P-6: the write-ahead log", () => {
  it("stays small while much is written and read", async () => {
    const { store, clock, path } = sqliteStore();
    const driver = await new Driver(store, clock).begin("m");
    const reader = openReader(path);
    onTestEnd(() => {
      reader.close();
    });
    let largest = 0;
    for (let count = 0; count < 60; count += 1) {
      await driver.put("a", `${count} ${"x".repeat(MIB - 100)}`);
      expect((await reader.snapshot(PROJECT)).resources).toHaveLength(1);
      largest = Math.max(largest, statSync(`${path}-wal`).size);
    }
    expect(largest).toBeLessThan(16 * MIB);
  });
});
