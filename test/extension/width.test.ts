import { existsSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { widthOf } from "../../src/model/text.ts";
import { PIS, type InstalledPi } from "../pi/support/installed.ts";

/** Pi's own measure of text, with which it ends where a line is too wide. */
async function measureOf({ cli }: InstalledPi): Promise<(text: string) => number> {
  const [modules = ""] = /^.*\/node_modules(?=\/@)/.exec(cli) ?? [];
  const file = ["@earendil-works", "@mariozechner"]
    .map((scope) => path.join(modules, scope, "pi-tui/dist/utils.js"))
    .find((name) => existsSync(name));
  if (file === undefined) throw new Error(`there is no pi-tui beside ${cli}`);
  const { visibleWidth } = (await import(pathToFileURL(file).href)) as {
    visibleWidth: (text: string) => number;
  };
  return visibleWidth;
}

const samples = fc.constantFrom(
  "日本語🎉",
  "👩‍👩‍👧‍👦",
  "❤️",
  "ｗｉｄｅ",
  "𠮷野家",
  "a\u0301",
  "한국어",
  "🇩🇪",
  "→…·☰",
);
const isControl = (text: string) => /[\p{C}\p{Zl}\p{Zp}]/u.test(text.replace(/\u200d/gu, ""));

describe.each(PIS)("the width of text, as against Pi $version's own", (pi) => {
  it("is never less: Pi ends where it finds a line too wide", async () => {
    const measure = await measureOf(pi);
    const narrower: string[] = [];
    for (let code = 0x20; code < 0x40000; code += 1) {
      const text = code >= 0xd800 && code < 0xe000 ? "" : String.fromCodePoint(code);
      if (!isControl(text) && widthOf(text) < measure(text)) narrower.push(code.toString(16));
    }
    expect(narrower).toEqual([]);
    const printed = fc
      .oneof(fc.string({ unit: "grapheme" }), fc.string({ unit: "binary" }), samples)
      .filter((text) => !isControl(text));
    fc.assert(
      fc.property(printed, (text) => widthOf(text) >= measure(text)),
      { numRuns: 3_000 },
    );
  });
});
