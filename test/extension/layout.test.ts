import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { layOut, PLAIN, type Paint } from "../../src/extension/layout.ts";
import { listView } from "../../src/extension/resource-list.ts";
import type { View } from "../../src/extension/view.ts";
import { widthOf } from "../../src/model/text.ts";
import { summary } from "./resources.ts";

const COLOURS: Paint = {
  tone: (_tone, text) => `\u001b[31m${text}\u001b[39m`,
  bold: (text) => `\u001b[1m${text}\u001b[22m`,
};

const line = fc.string({ unit: "grapheme" }).map((text) => text.replace(/[\n\r]/g, " "));
const views: fc.Arbitrary<View> = fc.record(
  {
    title: line,
    text: fc.array(line).map((lines) => lines.join("\n")),
    table: fc.record({
      columns: fc.array(
        fc.record({ title: line, least: fc.nat(30), drop: fc.nat(5) }, { requiredKeys: ["title"] }),
        { minLength: 1, maxLength: 8 },
      ),
      rows: fc.array(
        fc.array(fc.oneof(line, fc.record({ text: line, tone: fc.constant("bad" as const) }))),
      ),
    }),
  },
  { requiredKeys: [] },
);

describe("the layout of a view", () => {
  it("is never wider than the terminal, whatever is in it: Pi ends where a line is", () => {
    fc.assert(
      fc.property(views, fc.integer({ min: 1, max: 200 }), (view, width) => {
        for (const drawn of layOut(view, COLOURS, width))
          expect(widthOf(drawn)).toBeLessThanOrEqual(width);
      }),
      { numRuns: 300 },
    );
  });

  it("spells what a terminal would obey", () => {
    expect(layOut({ text: "a\u001b[2Jb\u202ec" }, PLAIN)).toEqual(["a\\u001b[2Jb\\u202ec"]);
  });

  it("breaks text between words and keeps its indentation", () => {
    expect(layOut({ text: "  one two three" }, PLAIN, 10)).toEqual(["  one two", "  three"]);
    expect(layOut({ text: "x".repeat(12) }, PLAIN, 10)).toEqual(["x".repeat(10), "xx"]);
    const long = `  ${"x".repeat(12)} y`;
    expect(layOut({ text: long }, PLAIN, 10)).toEqual(["  xxxxxxxx", "  xxxx y"]);
  });
});

const items = [
  summary("short", { ready: true }),
  summary("日本語の名前がついたリソース🎉のとても長い名前", {
    ready: false,
    reason: "HeadChanged",
    message: "the head moved",
  }),
  summary(`long/${"words-".repeat(20)}`, {
    ready: false,
    reason: "WaitingForChecks",
    message: "2 of 5",
  }),
];
const listed = (width?: number) => layOut(listView(items, { project: "/p" }, 60_000), PLAIN, width);

describe("a list of resources", () => {
  it("shows all it has on a wide terminal, aligned", () => {
    expect(listed(160)).toMatchInlineSnapshot(`
      [
        "MANAGER   KEY                                                                                           READY  STATUS            GENERATION  AGE  MESSAGE",
        "greeting  short                                                                                         True   Written           1           1m",
        "greeting  日本語の名前がついたリソース🎉のとても長い名前                                                False  HeadChanged       1           1m   the head moved",
        "greeting  long/words-words-words-words-words-words-words-words-words-words-words-words-words-words-wo…  False  WaitingForChecks  1           1m   2 of 5",
      ]
    `);
  });

  it("leaves out what matters least at 80 columns, and cuts long names", () => {
    expect(listed(80)).toMatchInlineSnapshot(`
      [
        "MANAGER   KEY                         READY  STATUS          AGE  MESSAGE",
        "greeting  short                       True   Written         1m",
        "greeting  日本語の名前がついたリソ…   False  HeadChanged     1m   the head moved",
        "greeting  long/words-words-words-wo…  False  WaitingForChe…  1m   2 of 5",
      ]
    `);
    expect(listed(80).every((shown) => widthOf(shown) <= 80)).toBe(true);
  });

  it("cuts nothing where there is no terminal", () => {
    expect(listed().join("\n")).toContain(`long/${"words-".repeat(20)}`);
  });

  it("says how to get any where there are none", () => {
    const text = (wish: object) => layOut(listView([], wish, 0), PLAIN).join("\n");
    expect(text({ project: "/p" })).toContain("/resource-manager apply PATH");
    expect(text({ project: "/p", notReady: true })).toBe("Nothing is unready.");
  });
});
