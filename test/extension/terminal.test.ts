import { beforeAll, describe, expect, it } from "vitest";
import { NEWEST_PI, TRIED_PIS, type InstalledPi } from "../pi/support/installed.ts";
import type { Lifetime } from "../pi/support/machine.ts";
import { PiTerminal } from "../pi/support/terminal.ts";
import { writeCounter, writeGate } from "./support/counter.ts";
import { buildExtension, EXTENSION, setStage, type Stage } from "./support/stage.ts";

beforeAll(() => buildExtension());

function sit(test: Lifetime, stage: Stage, columns = 80): PiTerminal {
  const { node, cli } = stage.pi;
  const command = [node, cli, "-ne", "-ns", "-np", "-nc", "--no-session", "-e", EXTENSION];
  const { NO_COLOR: _colour, ...env } = stage.env;
  return new PiTerminal(test, { columns, rows: 40, command, cwd: stage.machine.project, env });
}

/** The last line of Pi's footer, where it has no model. */
const READY = /unknown|no-model/;
const settings = { defaultProjectTrust: "always" };
const stageFor = (test: Lifetime, pi: InstalledPi) => setStage(test, { pi, settings });

/** Pastes a command, which completes nothing, and presses Enter. */
async function enter(terminal: PiTerminal, line: string): Promise<void> {
  terminal.press(`\u001b[200~${line}\u001b[201~`);
  await terminal.until(new RegExp(line.slice(0, 30).replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")));
  terminal.press("\r");
}

describe.each(TRIED_PIS)("Pi $version in a terminal", (pi) => {
  it("completes, lists, asks before it changes something, and shows how things stand", async (test) => {
    const stage = stageFor(test, pi);
    writeCounter(stage, "first-one", 1);
    writeGate(stage);
    const terminal = sit(test, stage);
    await terminal.until(READY);
    await enter(terminal, "/resource-manager apply specs");
    await terminal.until(/created counter first-one/);
    await terminal.until(/1 ready/);

    terminal.press("/resource-manager why counter fi");
    await terminal.until(/first-one +ready \(Counted\)/);
    terminal.press("\t");
    await terminal.until(/why counter first-one/);
    // The first Enter takes what is offered, where something still is.
    terminal.press("\r\r");
    await terminal.until(/Nothing is left to do/);

    await enter(terminal, '/resource-manager apply gate x {"folder": "/nowhere", "blocked": true}');
    await terminal.until(/! +gate x +Shut: its file is not there/);
    await terminal.until(/1 ready · 1 needs attention/);

    writeCounter(stage, "first-one", 2);
    await enter(terminal, "/resource-manager apply specs");
    const dialog = await terminal.until(/Apply this plan\?[\s\S]*→ Yes/);
    expect(dialog).toContain("1 to update");
    terminal.press("\r");
    await terminal.until(/updated counter first-one/);
    await enter(terminal, "/resource-manager list");
    await terminal.until(/MANAGER +KEY[\s\S]*counter +first-one +True +Counted/);
  });
});

describe("screens of the newest Pi", () => {
  it.for([40, 80, 160])(
    "hold long names, wide characters and 200 resources at %i columns",
    async (columns, test) => {
      const stage = stageFor(test, NEWEST_PI);
      writeGate(stage);
      const names = [
        ...Array.from({ length: 200 }, (_one, at) => `resource-${at}`),
        `a-very-long-name/${"of-many-words-".repeat(8)}end`,
        "日本語の名前がついたリソース🎉の長い長い長い長い長い長い名前",
      ];
      const manifests = names.map((key) => ({
        resourceManager: "gate",
        key,
        spec: { folder: "/nowhere", blocked: true },
      }));
      stage.write("specs/many.resource.json", JSON.stringify(manifests));
      const terminal = sit(test, stage, columns);
      await terminal.until(READY);
      await enter(terminal, "/resource-manager apply specs");
      await terminal.until(/202 need attention/);
      await enter(terminal, "/resource-manager list");
      const screen = await terminal.until(/… \d+ more lines; ctrl\+o shows them|gate +resource-/);
      expect(screen).toMatch(/and 198 more/);
      terminal.press("/quit\r");
      expect(await terminal.ended).toBe(0);
    },
  );
});
