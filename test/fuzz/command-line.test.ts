import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { homeAt } from "../../src/server/home.ts";
import { buildCommandLine, makeWorkspace } from "../cli/command-line.ts";
import { tempFolder } from "../server/temp.ts";
import { buildRuns } from "../server/runs/real-runs.ts";
import { count } from "../support/figures.ts";
import { TOKEN } from "./support/asking.ts";
import { commandLines, WAYS, type Fitting } from "./support/command-lines.ts";
import { parseCommand, runCommand, type Ran } from "./support/commands.ts";
import { filesOf, withVariables } from "./support/files.ts";
import { expectUnpolluted, tries } from "./support/inputs.ts";
import { openStage } from "./support/stage.ts";

// Those that evaluate project code, or that start, stop or replace the server, take a process.
const IN_PROCESS =
  /^(?:get|describe|resource-managers?|delete|reconcile|suspend|resume|why|events|history|effects?|queue|runs?|workflows|prunes|sync (?:status|prunes|suspend|resume)|blame|undelete|doctor|repair|metrics|server (?:status|logs)|schema|completion|__complete)\b/;
const NAMES_OF_WAITS = /^(?:wait|run wait)\b/;

const FITTING: Fitting = {
  manager: ["keeper"],
  key: ["a", "b/ü 1"],
  workflow: ["talk", "fail"],
  run: ["x"],
  file: ["specs", "value.json"],
  value: ["1", "ask", '{"ok":true}', "@value.json"],
};

/** A refusal has a code and no stack; nothing a terminal obeys, and no secret, is printed. */
function judge({ code, stdout, stderr, error }: Ran, args: readonly string[]): void {
  const text = stdout + stderr;
  // oxlint-disable-next-line no-control-regex
  const isObeyed = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/.test(text);
  const isFault = error === "INTERNAL" || /\[INTERNAL\]|^\s+at .*:\d+:\d+/m.test(text);
  if (![0, 1, 2, 3, 4, 5].includes(code) || isObeyed || isFault || text.includes(TOKEN)) {
    expect.unreachable(JSON.stringify({ args, code, error, stdout, stderr }));
  }
}

describe("a command line", () => {
  it("is understood, or refused with a code", async () => {
    const { numRuns, ...how } = tries(1_500);
    await fc.assert(fc.asyncProperty(commandLines(WAYS, FITTING), parseCommand), {
      numRuns,
      ...how,
    });
    count("inputs of the command line", numRuns);
    expectUnpolluted();
  });

  describe("with a server", () => {
    beforeAll(buildRuns);

    it("is carried out, or refused with a code, and tells no secret", async () => {
      const { project, home, runIds } = await openStage();
      writeFileSync(path.join(project, "value.json"), '{"ok":true}');
      const ways = WAYS.filter(({ words }) => {
        const name = words.join(" ");
        return IN_PROCESS.test(name) && !NAMES_OF_WAITS.test(name);
      });
      const before = process.memoryUsage.rss();
      const { numRuns, ...how } = tries(350);
      const lines = commandLines(ways, { ...FITTING, run: runIds });
      const [user, temporary] = [tempFolder(), tempFolder()];
      const variables = { HOME: user, TMPDIR: temporary, PI_WORKFLOWS_HOME: home };
      const folder = process.cwd();
      process.chdir(project);
      try {
        await withVariables(variables, () =>
          fc.assert(
            fc.asyncProperty(lines, async (args) => judge(await runCommand(args), args)),
            { numRuns, ...how },
          ),
        );
      } finally {
        process.chdir(folder);
      }
      expect([...filesOf(user), ...filesOf(temporary)]).toEqual([]);
      count("inputs of the command line", numRuns);
      expectUnpolluted();
      expect(readFileSync(homeAt(home).log, "utf8")).not.toContain(TOKEN);
      expect(readFileSync(homeAt(home).log, "utf8")).not.toMatch(/"code":"INTERNAL"/);
      expect(process.memoryUsage.rss() - before).toBeLessThan(400 * 1024 * 1024);
    });
  });

  describe("as a process", () => {
    const workspace = makeWorkspace();
    beforeAll(() => {
      buildCommandLine();
      mkdirSync(path.join(workspace.project, "specs"));
      workspace.write("value.json", '{"ok":true}');
    });

    it("ends with an exit code of the table, whatever it and its input are", async () => {
      const ways = WAYS.filter(({ words }) => !/^server (?:run|logs)/.test(words.join(" ")));
      const { numRuns, ...how } = tries(12);
      const input = fc.oneof(fc.constantFrom("", "{", "null"), fc.string({ unit: "binary" }));
      const line = commandLines(ways, { ...FITTING, value: ["-", "@value.json"] })
        // No argument of a process holds NUL.
        .map((args) => args.map((word) => word.replaceAll("\0", "")));
      await fc.assert(
        fc.asyncProperty(line, input, async (args, text) => {
          const env = { GITHUB_TOKEN: TOKEN };
          const { code, ...ran } = await workspace.run(args, { input: text, env });
          judge({ code: code ?? -1, ...ran }, args);
        }),
        { numRuns, ...how },
      );
      count("inputs of the command line", numRuns);
      const made = readdirSync(path.dirname(workspace.home));
      expect(made.filter((name) => name !== "project" && name !== "state")).toEqual([]);
    });
  });
});
