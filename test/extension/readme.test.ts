import { readFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { RESOURCE_MANAGER, WORKFLOW } from "../../src/extension/verbs.ts";
import { DEFAULTS } from "../../src/extension/settings.ts";
import { blocksOf } from "../e2e/readme.ts";
import { NEWEST_PI } from "../pi/support/installed.ts";
import { buildExtension, setStage, status, type } from "./support/stage.ts";

beforeAll(() => buildExtension());

const README = readFileSync(path.resolve(import.meta.dirname, "../../README.md"), "utf8");
const section = /\n## In Pi\n([\s\S]*?)\n## /.exec(README)?.[1] ?? "";

describe("a newcomer in Pi, following the README word for word", () => {
  it("sees a plan, resources that become ready, and why", async (test) => {
    const stage = setStage(test, { pi: NEWEST_PI });
    await stage.cli("init");
    const session = await stage.open();
    const typed = blocksOf("In Pi").find(({ language }) => language === "text")?.text ?? "";
    const said: string[] = [];
    for (const line of typed.trim().split("\n")) said.push(await type(session, line));
    expect(said).toHaveLength(4);
    expect(said.join("\n")).not.toContain("pi-workflows:");
    const [diff, apply, list, why] = said;
    expect(diff).toContain("3 to create");
    expect(apply).toContain("created greeting hello");
    expect(list).toMatch(/greeting +hello +/);
    expect(why).toContain("Now: ");
    await status(session, "3 ready");
  });

  it("finds every verb and every setting named", () => {
    for (const { command, verbs } of [RESOURCE_MANAGER, WORKFLOW]) {
      expect(section).toContain(`/${command} `);
      for (const { name } of verbs) expect(section).toMatch(new RegExp(`\`[^\`]*\\b${name}\\b`));
    }
    for (const name of Object.keys(DEFAULTS)) expect(section).toContain(`\`${name}\``);
  });
});
