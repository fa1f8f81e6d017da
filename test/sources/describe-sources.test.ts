import { describe, expect, it } from "vitest";
import { LIMITS } from "../../src/model/limits.ts";
import { cron, every, files, watch, webhook } from "../../src/resource-managers/sources.ts";
import { describeSources } from "../../src/sources/describe-sources.ts";

const NOW = Date.UTC(2026, 0, 1);
const faultsOf = (sources: unknown) =>
  describeSources(sources, NOW).faults.map(({ message }) => message);

describe("sources as plain data", () => {
  it("hold no functions, and are what JSON holds", () => {
    const { sources, faults } = describeSources(
      [every("1h"), cron("@hourly"), files("a"), watch("m", () => []), webhook("w", () => [])],
      NOW,
    );
    expect(faults).toEqual([]);
    expect(JSON.parse(JSON.stringify(sources))).toEqual(sources);
    expect(sources.map(({ kind }) => kind)).toEqual(["every", "cron", "files", "watch", "webhook"]);
  });

  it("are as many as the limits allow, and no more", () => {
    const many = (count: number) => Array.from({ length: count }, () => every("1h"));
    expect(faultsOf(many(LIMITS.sources))).toEqual([]);
    expect(faultsOf(many(LIMITS.sources + 1))).toEqual([
      `sources: at most ${LIMITS.sources}, not ${LIMITS.sources + 1}`,
    ]);
    const globs = (count: number) => [
      files(Array.from({ length: count }, (_, index) => `${index}`)),
    ];
    expect(faultsOf(globs(LIMITS.globs))).toEqual([]);
    expect(faultsOf(globs(LIMITS.globs + 1))[0]).toMatch(/globs/);
  });

  it.each([
    [undefined, []],
    ["every", ["sources: must be an array"]],
    [[null], [/made by every/]],
    [[{ kind: "often" }], [/made by every/]],
    [[every("1h"), { kind: "every", everyMs: 10 }], [/^sources\[1\]: every/]],
    [[{ kind: "every", everyMs: Number.NaN }], [/everyMs/]],
    [[files([])], [/globs/]],
    [[files("/etc/*")], [/relative to the project/]],
    [[files("a/../../b")], [/relative to the project/]],
    [[watch("Not A Name")], [/manager/]],
    [[{ kind: "webhook", name: "w", deliveryHeader: "x" }], [/needs a function/]],
    [[webhook("w", () => [], { deliveryHeader: "not a header" })], [/deliveryHeader/]],
  ])("%j is as it should be, or says what is wrong", (sources, faults) => {
    const found = faultsOf(sources);
    expect(found).toHaveLength(faults.length);
    for (const [index, fault] of faults.entries()) expect(found[index]).toMatch(fault);
  });
});
