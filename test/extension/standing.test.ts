import { describe, expect, it } from "vitest";
import { standingOf, statusLine, notReady } from "../../src/extension/standing.ts";
import { widgetView } from "../../src/extension/presence.ts";
import { layOut, PLAIN } from "../../src/extension/layout.ts";
import { summary, type Made } from "./resources.ts";

const standing = (made: Made, queued = false) => standingOf(summary("a", made), queued);
const stood = (key: string, made: Made, queued = false) => {
  const resource = summary(key, made);
  return { resource, standing: standingOf(resource, queued) };
};

describe("how a resource stands", () => {
  it.for<[string, Made, boolean, string, boolean]>([
    ["ready", { ready: true }, false, "ready", false],
    ["ready, and looked at again", { ready: true }, true, "ready", false],
    ["new", {}, true, "reconciling", false],
    ["not ready, and a pass is to come", { ready: false }, true, "reconciling", false],
    ["not ready, and nothing will look at it", { ready: false }, false, "attention", true],
    [
      "of an older generation",
      { ready: true, generation: 2, observed: 1 },
      true,
      "reconciling",
      false,
    ],
    ["suspended", { ready: false, suspended: true }, false, "suspended", true],
    ["being deleted", { ready: true, deleting: true }, false, "reconciling", false],
    [
      "failing, and tried again",
      {
        ready: false,
        conditions: [{ type: "Reconciled", status: false, reason: "ReconcileFailed" }],
      },
      true,
      "attention",
      false,
    ],
    [
      "failed for good",
      {
        ready: false,
        conditions: [{ type: "Reconciled", status: false, reason: "TerminalError" }],
      },
      false,
      "attention",
      true,
    ],
    ["stalled", { conditions: [{ type: "Stalled" }] }, false, "attention", true],
    [
      "with an effect that can't be told, though ready",
      { ready: true, conditions: [{ type: "EffectIndeterminate" }] },
      false,
      "attention",
      true,
    ],
    [
      "blocked, as its manager says",
      { ready: false, conditions: [{ type: "Blocked" }] },
      true,
      "attention",
      true,
    ],
    [
      "out of step with its source",
      { ready: false, conditions: [{ type: "Synced", status: false }] },
      true,
      "attention",
      true,
    ],
  ])("%s", ([, made, queued, state, stuck]) => {
    expect(standing(made, queued)).toMatchObject({ state, stuck });
  });
});

describe("the status line", () => {
  it("counts in words, and is not there where nothing is", () => {
    const all = [
      stood("a", { ready: true }),
      stood("b", { ready: true }),
      stood("c", {}, true),
      stood("d", { ready: false }),
    ];
    expect(statusLine(all)).toBe("2 ready · 1 reconciling · 1 needs attention");
    expect(statusLine([...all, stood("e", { ready: false })])).toContain("2 need attention");
    expect(statusLine([])).toBeUndefined();
  });
});

describe("the widget", () => {
  it("lists what is not ready and why, what needs attention first", () => {
    const view = widgetView(
      notReady([
        stood("waits", { ready: false, reason: "WaitingForChecks" }, true),
        stood("ready", { ready: true }),
        stood("blocked", { ready: false, reason: "HeadChanged", message: "moved" }),
      ]),
    );
    expect(layOut(view ?? {}, PLAIN)).toEqual([
      "!  greeting blocked  HeadChanged: moved",
      "…  greeting waits    WaitingForChecks",
    ]);
  });

  it("stays short, and is not there where all is well", () => {
    const many = Array.from({ length: 200 }, (_one, at) => stood(`k${at}`, { ready: false }));
    const lines = layOut(widgetView(notReady(many)) ?? {}, PLAIN, 80);
    expect(lines).toHaveLength(5);
    expect(lines.at(-1)).toContain("and 196 more: /resource-manager list --not-ready");
    expect(widgetView(notReady([stood("a", { ready: true })]))).toBeUndefined();
  });
});
