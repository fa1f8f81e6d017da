import { beforeAll, describe, expect, it } from "vitest";
import { createProgram } from "../../src/cli/program.ts";
import { commandsOf, helpOf } from "../../src/cli/reference.ts";
import { VERBS } from "../../src/cli/verbs.ts";
import { buildCommandLine, makeWorkspace } from "./command-line.ts";

describe("help", () => {
  const program = createProgram(VERBS, () => Promise.resolve());

  it("says what every verb does", () => {
    const texts = commandsOf(program).map((command) => helpOf(command));
    expect(texts.join(`\n${"-".repeat(80)}\n`)).toMatchSnapshot();
  });

  it("of every verb has two examples that the verb can parse", async () => {
    for (const command of commandsOf(program)) {
      if (command === program || command.commands.length > 0) continue;
      const examples = [...helpOf(command).matchAll(/^ {2}\$ (.*)$/gm)].map(
        ([, text]) => text ?? "",
      );
      expect({ command: command.name(), enough: examples.length >= 2 }).toEqual({
        command: command.name(),
        enough: true,
      });
      for (const example of examples) {
        const parsed = createProgram(VERBS, () => Promise.resolve());
        await parsed.parseAsync(argumentsOf(example), { from: "user" });
      }
    }
  });
});

describe("what can't be understood", () => {
  const { run } = makeWorkspace();
  beforeAll(buildCommandLine);

  const cases: [string[], string, string][] = [
    [["aply"], "unknown command 'aply'", "Did you mean apply? See `pi-workflows --help`."],
    [
      ["get", "--wacth"],
      "unknown option '--wacth'",
      "Did you mean --watch? See `pi-workflows get --help`.",
    ],
    [
      ["server", "strat"],
      "unknown command 'strat'",
      "Did you mean start? See `pi-workflows server --help`.",
    ],
    [["why", "greeting"], "missing required argument 'key'", "See `pi-workflows why --help`."],
    [["get", "a", "b", "c"], "too many arguments", "See `pi-workflows get --help`."],
    [["get", "-o", "yaml"], "argument 'yaml' is invalid", "See `pi-workflows get --help`."],
    [
      ["wait", "a", "b", "--timeout", "soon"],
      '--timeout: "soon" is not a duration',
      "Write a number and a unit",
    ],
    [["wait", "a", "b", "--for", "happy"], '"happy" can\'t be waited for', "Write ready, deleted"],
    [["get", "-l", "team"], '--label: "team" is not a label', "Write NAME=VALUE"],
    [["events", "--limit", "0"], '--limit: "0" is not a whole number', ""],
    [
      ["events", "--for", "hello"],
      "--for hello does not name one resource",
      "Write --for MANAGER/KEY",
    ],
    [["apply"], "nothing says which specs", "Give -f with a file"],
    [["apply", "-f", "."], "there is no spec file in .", "-R looks into subfolders too"],
    [
      ["apply", "-f", "no*.json", "--prune"],
      "--prune takes files and folders, no glob",
      "Give the folder",
    ],
    [["apply", "m", "k", "{}", "-f", "."], "-f beside m", "not both"],
    [["apply", "-f", ".", "--max-deletes", "many"], '"many" is not a number of deletions', "25%"],
    [
      ["effect", "resolve", "a", "b", "c"],
      "say --applied or --not-applied",
      "Look at the outside world",
    ],
    [
      ["effect", "resolve", "a", "b", "c", "--not-applied"],
      "--not-applied needs --reason",
      "Say why",
    ],
    [["-C", "/nowhere/at/all", "get"], "-C /nowhere/at/all: there is no such folder", ""],
    [["completion", "tcsh"], "'tcsh' is invalid", ""],
  ];
  it.each(cases)("%j is refused with what is wrong and what to do", async (args, message, hint) => {
    const { code, stdout, stderr } = await run(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^error\[USAGE\]: /);
    expect(stderr).toContain(message);
    expect(stderr).toContain(`hint: `);
    expect(stderr).toContain(hint);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  it("is JSON on stdout with -o json, and has a stack with --verbose only", async () => {
    const { code, stdout, stderr } = await run(["get", "nobody", "nothing", "-o", "json"]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: "" });
    expect(JSON.parse(stdout)).toEqual({
      error: { code: "NOT_FOUND", message: expect.any(String), hint: expect.any(String) },
    });
    expect((await run(["get", "nobody", "nothing", "--verbose"])).stderr).toMatch(/^\s+at /m);
  });

  it("has its control characters spelled out", async () => {
    const { stderr } = await run(["get", "nobody", "evil\u001b[2Jkey\u202e"]);
    expect(stderr).toContain("evil\\u001b[2Jkey\\u202e");
  });
});

describe("colours", () => {
  const { run } = makeWorkspace();
  beforeAll(buildCommandLine);

  it("are for terminals, and NO_COLOR and --no-color are stronger than a wish for them", async () => {
    const colour = { FORCE_COLOR: "1" };
    expect((await run(["aply"])).stderr).not.toContain("\u001b");
    expect((await run(["aply"], { env: colour })).stderr).toContain("\u001b[31m");
    expect((await run(["aply"], { env: { ...colour, NO_COLOR: "1" } })).stderr).not.toContain(
      "\u001b",
    );
    expect((await run(["aply", "--no-color"], { env: colour })).stderr).not.toContain("\u001b");
  });
});

/** The words of an example as a shell would give them; what is before the command is left out. */
function argumentsOf(example: string): string[] {
  const [, rest = ""] = /pi-workflows (.*?)(?:\)"| (?:&&|\||>) .*)?$/.exec(example) ?? [];
  return [...rest.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, plain]) => single ?? double ?? plain ?? "",
  );
}
