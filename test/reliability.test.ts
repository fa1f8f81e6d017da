import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { globSync } from "tinyglobby";
import { expect, it } from "vitest";

const report = readFileSync("RELIABILITY.md", "utf8");

it("each test and command that the report names exists", () => {
  const named = [...report.matchAll(/`((?:test|docs|scripts)\/[^` ]+)`/g)].map(([, file]) => file);
  expect(named.length).toBeGreaterThan(10);
  for (const file of named) expect([file, existsSync(file as string)]).toEqual([file, true]);
  const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as {
    scripts: Record<string, string>;
  };
  for (const [, name] of report.matchAll(/npm run (\w+)/g)) {
    expect(scripts).toHaveProperty([name as string]);
  }
});

it("each figure of the report is one that the soak of its row prints", () => {
  const soaks = readFileSync("scripts/soak.mjs", "utf8");
  const rows = [...report.matchAll(/^\| (\w+) \| (.+?) \| +[\d,.]+ %? *\|$/gm)];
  expect(rows.length).toBeGreaterThan(10);
  for (const [row, soak, figure] of rows) {
    const file = new RegExp(`^  ${soak}: \\{[^}]*file: "(.+?)"`, "m").exec(soaks)?.[1];
    expect([row, file]).toEqual([row, expect.any(String)]);
    if (figure !== "minutes") expect(sourcesOf(file as string)).toContain(`"${figure}"`);
  }
});

/** All that stands in the folders of a soak's tests. */
function sourcesOf(places: string): string {
  const folders = places
    .split(" ")
    .map((place) => (existsSync(place) && !place.endsWith(".ts") ? place : path.dirname(place)));
  return globSync(folders.map((folder) => `${folder}/**/*.ts`))
    .map((file) => readFileSync(file, "utf8"))
    .join("\n");
}
