import { describe, expect, it } from "vitest";
import { receiptText } from "../../src/extension/apply.ts";
import { describeError } from "../../src/extension/errors.ts";
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
