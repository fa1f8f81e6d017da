import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { createColors } from "picocolors";
import { beforeAll, describe, expect, it } from "vitest";
import { sieve } from "../../src/cli/output.ts";
import { printableLines } from "../../src/model/text.ts";
import { buildCommandLine, makeWorkspace, type Workspace } from "../cli/command-line.ts";
import { APART, callOf, LEAVES } from "./every-verb.ts";

beforeAll(buildCommandLine);

/** What a terminal may obey, in one and in two bytes; what reorders a line. */
const ESCAPES = "\u001b]0;owned\u0007\u001b[2J\u009b31m\u202e\u2066\u007f\u0085\r";
const OBEYED = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u200E\u200F\u2028-\u202E\u2066-\u2069]/;
const SECRET = "sesame-and-lily-47";

const asCode = (text: string) => JSON.stringify(text);

const MANAGER = `
import { conditionFalse, defineResourceManager } from "@osolmaz/pi-workflows/resource-managers";
import { z } from "zod";
const bad = ${asCode(ESCAPES)};
export default defineResourceManager({
  name: "loud",
  spec: z.strictObject({
    note: z.string(),
    level: z.enum(["low", "high"]).meta({ secret: true }).optional(),
    pin: z.number().meta({ secret: true }).optional(),
  }),
  initialStatus: () => ({}),
  async reconcile(ctx, resource) {
    ctx.log.warn("a line" + bad, { [bad]: bad });
    console.log("printed" + bad);
    await ctx.events.emit({ type: "Warning", reason: "Loud", message: "an event" + bad, payload: { [bad]: bad } });
    await ctx.effects.ensure({
      key: "k", kind: "loud", request: { [bad]: bad },
      observe: () => Promise.resolve({ state: "absent" }),
      apply: () => Promise.resolve({ externalRef: "ref" + bad }),
    });
    return ctx.settled({
      resourceManagerStatus: { [bad]: bad },
      conditions: [conditionFalse("Ready", "Loud", "a condition" + bad + resource.spec.note)],
    });
  },
});
`;

const WORKFLOW = `
import { action, checkpoint, compute, defineWorkflow, end, shell } from "@osolmaz/pi-workflows";
import { z } from "zod";
const bad = ${asCode(ESCAPES)};
const input = z.object({
  token: z.string().meta({ secret: true }),
  mode: z.enum(["calm", "wild"]).meta({ secret: true }).optional(),
});
const look = compute({ input, title: "look" + bad, run: ({ input, log }) => { log.info("look " + input.token + bad); return { [bad]: input.token + bad }; } });
const print = shell({ input, command: ({ input }) => ["sh", "-c", "printf '%s\\\\n' \\"$1\\"; exit 0", "sh", "x" + bad], env: ({ input }) => ({ TOKEN: input.token }), safety: "idempotent" });
const ask = checkpoint({ input, message: ({ input }) => "go on? " + input.token + bad, answer: z.object({ ok: z.boolean() }) });
const fail = action({ input, safety: "idempotent", run: ({ input }) => { throw new Error("no: " + input.token + bad); } });
export default defineWorkflow({
  name: "loud",
  input,
  output: z.object({}),
  startAt: "look",
  nodes: { look, print, ask, fail },
  edges: { look: "print", print: "ask", ask: "fail", fail: end("done") },
  exits: { done: () => ({}) },
});
`;

const JSON_OF = ["get", "describe", "events", "effects", "run show", "run logs"];
/** What authors and providers wrote beside what is to be obeyed. */
const WORDS = ["a condition", "an event", "a line", "printed", "ref", "look", "Eve", "a commit"];

/** Two at a time: most of what a command takes is its start. */
async function inPairs<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const left = all.values();
  const side = async (): Promise<void> => {
    for (const one of left) await work(one);
  };
  await Promise.all([side(), side()]);
}

/** Commits what is there, as somebody whose name is more than a name. */
function commitAs(folder: string, name: string): void {
  const settings = ["-c", `user.name=${name}`, "-c", "user.email=eve@example.com"];
  const git = (...args: string[]) => execFileSync("git", [...settings, "-C", folder, ...args]);
  git("init", "--quiet");
  git("add", "--all");
  git("commit", "--quiet", "--message", `a commit${ESCAPES}`);
}

async function outputs({ run }: Workspace, all: readonly (readonly string[])[]): Promise<string[]> {
  const found: string[] = [];
  for (const args of all) {
    const { code, stdout, stderr } = await run([...args]);
    expect({ args, code }).toEqual({ args, code: expect.toBeOneOf([0, 1, 2, 3]) });
    expect(stdout + stderr).not.toBe("");
    found.push(`${args.join(" ")}\n${stdout}${stderr}`);
  }
  return found;
}

describe("what authors and providers write is shown, and obeyed by no terminal", () => {
  const workspace = makeWorkspace();
  const { ok, write, home } = workspace;
  let run = "";
  beforeAll(async () => {
    write(".pi/resource-managers/loud.resource-manager.ts", MANAGER);
    write(".pi/workflows/loud.workflow.ts", WORKFLOW);
    const spec = { note: ESCAPES, level: "low", pin: 40_417 };
    const manifest = { resourceManager: "loud", key: "a", labels: { [ESCAPES]: ESCAPES }, spec };
    write("specs/a.resource.json", JSON.stringify(manifest));
    commitAs(workspace.project, `Eve${ESCAPES}Mallory`);
    await ok(["apply", "-f", "specs"]);
    await ok(["wait", "loud", "a", "--for", "condition=Ready=false", "--timeout", "15s"]);
    const input = JSON.stringify({ token: SECRET });
    const started = await workspace.run(["run", "start", "loud", "--input", "-", "--wait"], {
      input,
    });
    run = /loud (\w{8}) /.exec(started.stderr + started.stdout)?.[1] ?? started.stderr;
    await ok(["run", "answer", run, '{"ok":true}']);
    await ok(["run", "wait", run], { code: 2 }).catch(() => undefined);
  });

  const called = LEAVES.filter(({ name }) => !APART.includes(name));
  const named = () => {
    const backup = path.join(path.dirname(home), "backup");
    return { manager: "loud", key: "a", workflow: "loud", run, backup };
  };
  const check = (text: string) => {
    expect(text).not.toMatch(OBEYED);
    expect(text).not.toContain(SECRET);
  };

  it("in no output of any verb", async () => {
    const spec = { note: `${ESCAPES}2` };
    const manifest = JSON.stringify({ resourceManager: "loud", key: "a", spec });
    write("specs/a.resource.json", manifest);
    const looks = called.flatMap((leaf) => {
      const call = callOf(leaf, named());
      // All JSON is written in one place, so a few of them do.
      const isTried = (format: string) => format !== "json" || JSON_OF.includes(leaf.name);
      const others = leaf.formats.slice(1).filter(isTried);
      return [call, ...others.map((format) => [...call, "-o", format])];
    });
    let said = "";
    await inPairs(looks, async (args) => {
      const { code, stdout, stderr } = await workspace.run([...args]);
      expect({ args, code }).toEqual({ args, code: expect.toBeOneOf([0, 1, 2, 3, 4]) });
      expect([args, stdout + stderr]).not.toEqual([args, ""]);
      check(`${args.join(" ")}\n${stdout}${stderr}`);
      said += stdout;
    });
    // Else it would prove nothing.
    for (const word of WORDS) expect(said).toContain(word);
  }, 240_000);

  it("in no refusal that repeats what was typed", async () => {
    const typed = `x${ESCAPES}`;
    const verbs = ["describe", "run show", "workflow graph", "sync confirm-prune", "completion"];
    const asked = verbs.map((verb) => [...verb.split(" "), typed, typed].slice(0, 3));
    const flags = [
      ["get", `--${typed}`],
      ["apply", "-f", typed],
      ["diff", "--rev", typed],
    ];
    await inPairs([[typed], ...flags, ...asked], async (args) => {
      const { stdout, stderr } = await workspace.run(args);
      expect(stdout + stderr).not.toMatch(OBEYED);
    });
  }, 120_000);

  it("in nothing that goes on printing", async () => {
    const following = called.filter(({ follow }) => follow !== undefined);
    expect(following.length).toBeGreaterThan(5);
    await inPairs(following, async (leaf) => {
      const args = [...callOf(leaf, named()), leaf.follow as string];
      const { stdout, stderr } = await workspace.run(args, {
        onOutput: (_text, child) => void child.kill("SIGINT"),
      });
      expect([args, stdout]).not.toEqual([args, ""]);
      check(stdout + stderr);
    });
  }, 120_000);

  it("by what every text goes through on its way to a terminal, colours or none", () => {
    const colours = (isColorSupported: boolean) => sieve(createColors(isColorSupported));
    const red = createColors(true).red("a word");
    expect(colours(true)(red + ESCAPES)).toBe(red + printableLines(ESCAPES));
    expect(colours(false)(red + ESCAPES)).toBe(printableLines(red + ESCAPES));
    expect(colours(true)("\u001b[38;5;1m\u001b[2J\u001b[1A\u001b[m")).not.toMatch(/\u001b/);
  });

  it("in no log that somebody prints", () => {
    const folder = path.join(home, "logs");
    for (const name of readdirSync(folder)) {
      const text = readFileSync(path.join(folder, name), "utf8");
      expect(text).toContain("a line");
      expect(text).not.toMatch(OBEYED);
    }
  });

  it("a secret field of a run's input is in the database, and in no other file", () => {
    const names = readdirSync(home, { recursive: true, encoding: "utf8" });
    const holders = names.filter((name) => {
      const file = path.join(home, name);
      return statSync(file).isFile() && readFileSync(file, "latin1").includes(SECRET);
    });
    expect(holders.filter((name) => !name.startsWith("state.sqlite"))).toEqual([]);
    expect(holders).not.toEqual([]);
  });

  it("a refusal of an input or a spec does not repeat its secret fields", async () => {
    const inputs = [
      { token: 40_417_001 },
      { token: { deep: SECRET } },
      { token: "a-token", mode: SECRET },
    ];
    for (const value of inputs) {
      for (const format of [[], ["-o", "json"]]) {
        const { code, stdout, stderr } = await workspace.run(
          ["run", "start", "loud", "--input", "-", ...format],
          { input: JSON.stringify(value) },
        );
        expect(code).toBe(2);
        expect(stdout + stderr).toMatch(/input\.(?:token|mode)/);
        expect(stdout + stderr).not.toContain(SECRET);
        expect(stdout + stderr).not.toContain("40417001");
      }
    }
    for (const spec of [
      { note: "n", level: SECRET },
      { note: "n", pin: SECRET },
    ]) {
      const input = JSON.stringify({ resourceManager: "loud", key: "b", spec });
      for (const format of [[], ["-o", "json"]]) {
        const { code, stdout, stderr } = await workspace.run(["apply", "-f", "-", ...format], {
          input,
        });
        expect(code).toBe(2);
        expect(stdout + stderr).toMatch(/spec\.(?:level|pin)/);
        expect(stdout + stderr).not.toContain(SECRET);
      }
    }
  });

  it("a spec that was written on the command line does not stay there", async () => {
    const spec = JSON.stringify({ note: "n", pin: 99_917_001 });
    await ok(["apply", "loud", "c", spec]);
    for (const text of await outputs(workspace, [
      ["history", "loud", "c"],
      ["history", "loud", "c", "-o", "json"],
      ["describe", "loud", "c", "-o", "json"],
      ["blame", "loud", "c"],
      ["get", "-o", "json"],
    ])) {
      expect(text).not.toContain("99917001");
    }
  });
});
