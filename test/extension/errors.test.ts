import { describe, expect, it } from "vitest";
import { receiptText } from "../../src/extension/apply.ts";
import { describeError } from "../../src/extension/errors.ts";
import { planLines } from "../../src/extension/resource-tool.ts";
import { PiWorkflowsError } from "../../src/model/errors.ts";

describe("an error", () => {
  it("that lists problems tells each once: those with a place by it, those without in its message", () => {
    const placed = { file: "a.resource.json", line: 2, column: 3, path: "spec", message: "is odd" };
    const hint = "Mend it.";
    expect(
      describeError(
        new PiWorkflowsError("INVALID_SPECS", "not valid:\n  a.resource.json: spec: is odd", {
          hint,
          details: { problems: [placed] },
        }),
      ),
    ).toBe("a.resource.json:2:3: spec: is odd\npi-workflows: not valid\nMend it.");
    const text = "input.url: must be a string, not 3";
    expect(
      describeError(
        new PiWorkflowsError("INVALID_INPUT", `the input of x is not valid: ${text}`, {
          hint,
          details: { problems: [text] },
        }),
      ),
    ).toBe(`pi-workflows: the input of x is not valid: ${text}\nMend it.`);
  });
});

describe("a plan in a dialog", () => {
  it("is whole where it fits; else it says how many lines more there are, and where to see them", () => {
    const text = (count: number) =>
      Array.from({ length: count }, (_, at) => `line ${at}`).join("\n");
    const files = { source: { paths: ["specs", "a b.resource.json"] } };
    expect(planLines(text(30), files)).toBe(text(30));
    expect(planLines(text(33), files)).toBe(
      `${text(30)}\n… 3 more lines: decline and type /resource-manager diff specs "a b.resource.json" to see them all`,
    );
    const spec = { source: { manager: "note", key: "a", spec: "{}" } };
    expect(planLines(text(31), spec)).toBe(
      `${text(30)}\n… 1 more line: decline and ask for the diff to see them all`,
    );
  });
});

describe("what an apply came to", () => {
  it("is one line for each resource that was to change", () => {
    const of = (kind: "create" | "prune" | "conflict" | "unchanged", key: string) => ({
      kind,
      key,
      resourceManager: "note",
    });
    const text = receiptText({
      planId: "p",
      storeRevision: 1,
      actions: [
        { ...of("create", "a"), outcome: "done" },
        { ...of("create", "b"), outcome: "failed", message: "why" },
        { ...of("prune", "c"), outcome: "done" },
        { ...of("prune", "d"), outcome: "skipped", message: "held" },
        { ...of("conflict", "e"), outcome: "skipped", message: "another's" },
        { ...of("unchanged", "f"), outcome: "skipped" },
      ],
    });
    expect(text.split("\n")).toEqual([
      "created note a",
      "failed note b: why",
      "deleted note c",
      "kept note d: held",
      "conflict note e: another's",
    ]);
  });
});
