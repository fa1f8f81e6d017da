import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync } from "node:fs";
import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { blocksOf, type Block } from "./readme.ts";
import { buildAll, eventually } from "./stage.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
/** The one thing in the README that a test must not touch: it is outside of its own folder. */
const OUTSIDE = "/tmp/pi-workflows-scratch";

const root = realpathSync(mkdtempSync(path.join(tmpdir(), "pw-newcomer-")));
const scratch = path.join(root, "scratch");
/** Where the newcomer's shell is; each block of commands goes on from there. */
let folder = root;

beforeAll(() => {
  buildAll();
  // Stands for `npm install --global` or `npm link`.
  mkdirSync(path.join(root, "bin"));
  symlinkSync(path.join(ROOT, "dist/cli/main.js"), path.join(root, "bin/pi-workflows"));
  mkdirSync(path.join(root, "home"));
});
afterAll(async () => {
  await type("pi-workflows server stop\n");
  rmSync(root, { recursive: true, force: true });
});

/** Types commands into a terminal, and `answers` to what they ask. Fails where one is an error. */
async function type(commands: string, answers = ""): Promise<string> {
  const file = path.join(root, "typed.sh");
  const place = path.join(root, "place");
  writeFileSync(file, `${STOP_AT_ERRORS}${commands}pwd > '${place}'\n`);
  const { PI_WORKFLOWS_HOME: _home, FORCE_COLOR: _colour, ...inherited } = process.env;
  const child = spawn("python3", ["-c", TERMINAL, "bash", file], {
    cwd: folder,
    env: {
      ...inherited,
      HOME: path.join(root, "home"),
      PATH: `${path.join(root, "bin")}${path.delimiter}${process.env.PATH}`,
      NO_COLOR: "1",
    },
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stdin.end(answers);
  const code = await new Promise((resolve) => void child.on("close", resolve));
  if (code !== 0) throw new Error(`${commands}ended with ${String(code)}:\n${output}`);
  folder = readFileSync(place, "utf8").trim();
  return output.replaceAll("\r\n", "\n");
}

// `diff` ends with 1 where there are differences, as the README says.
const STOP_AT_ERRORS = `trap 'code=$?; [ $code -le 1 ] || exit $code' ERR\n`;

// What is asked is asked on a terminal only. Answers are typed when they are asked for.
const TERMINAL = `
import os, pty, sys
answers = sys.stdin.buffer.read()
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
said = b""
while True:
    try:
        some = os.read(terminal, 4096)
    except OSError:
        some = b""
    if not some:
        break
    said += some
    sys.stdout.buffer.write(some)
    if answers and b"[y/N]" in said:
        os.write(terminal, answers)
        answers = b""
sys.stdout.buffer.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

const shell = (blocks: Block[]) => blocks.filter(({ language }) => language === "sh");
const inProject = (file: string) => path.join(folder, file);

describe("a newcomer in an empty folder, following the README word for word", () => {
  it("has a first resource that is ready", async () => {
    const [commands] = shell(blocksOf("Your first resource"));
    const output = await type(commands?.text as string);
    expect(output).toContain("3 to create");
    expect(output).toContain("3 of 3 ready");
    expect(path.basename(folder)).toBe("automation");
    expect(readFileSync(inProject("hello.txt"), "utf8")).toBe("Hello, world\n");
  });

  it("sees a changed text applied, and a spoiled file mended", async () => {
    const spec = inProject(".pi/resources/hello.resource.json");
    writeFileSync(spec, readFileSync(spec, "utf8").replace("Hello, world", "Hello, you"));
    await type("pi-workflows diff -f .pi/resources\n");
    await type("pi-workflows apply -f .pi/resources --wait\n");
    expect(readFileSync(inProject("hello.txt"), "utf8")).toBe("Hello, you\n");
    writeFileSync(inProject("hello.txt"), "spoiled");
    await type("pi-workflows reconcile greeting hello\n");
    await eventually(() =>
      expect(readFileSync(inProject("hello.txt"), "utf8")).toBe("Hello, you\n"),
    );
  });

  it("writes a manager, applies a spec for it, and deletes that again", async () => {
    const blocks = blocksOf("Write your own manager");
    for (const { snippet, text } of blocks) {
      if (snippet === undefined) continue;
      const target = inProject(snippet.replace("examples/folder/", ""));
      writeFileSync(target, text.replaceAll(OUTSIDE, scratch));
    }
    const [apply = "", remove = ""] = shell(blocks)
      .map(({ text }) => text.split(/(?<=\n)/))
      .flat();
    expect(await type(apply)).toContain("created  folder scratch");
    expect(existsSync(scratch)).toBe(true);
    expect(await type(remove, "y\n")).toContain("folder scratch is gone");
    expect(existsSync(scratch)).toBe(false);
  });

  it("writes a workflow, draws it, and runs it to its end", async () => {
    const blocks = blocksOf("Write a workflow");
    for (const { snippet, text } of blocks) {
      if (snippet === undefined) continue;
      const target = inProject(snippet.replace("examples/find-todos/", ""));
      mkdirSync(path.dirname(target), { recursive: true });
      writeFileSync(target, text);
    }
    const [validate = "", graph = "", start = "", runs = ""] = shell(blocks).flatMap(({ text }) =>
      text.split(/(?<=\n)/),
    );
    expect(await type(validate)).toMatch(/find-todos +project +\d+ +ok/);
    expect(await type(graph)).toContain("◆ judge  decision\n├─ found\n");
    // The workflow's own text holds the only one.
    expect(await type(start)).toContain("by exit reported");
    expect(readFileSync(inProject("todos.txt"), "utf8")).toContain("find-todos.workflow.ts:");
    const [, id] = /^(\w+) +find-todos +succeeded/m.exec(await type(runs)) ?? [];
    const shown = await type(`pi-workflows run show ${id}\n`);
    expect(shown).toMatch(/search +shell +succeeded/);
    expect(shown).toMatch(/judge +decision +succeeded → found/);
  });
});

describe("the README's snippets", () => {
  const snippets = ["Write your own manager", "Write a workflow"]
    .flatMap(blocksOf)
    .filter(({ snippet }) => snippet);

  it("are there", () => {
    expect(snippets.map(({ language }) => language)).toEqual(["ts", "json", "ts"]);
  });

  it.for(snippets)("$snippet is what the file holds", ({ snippet, text }) => {
    expect(text).toBe(readFileSync(path.join(ROOT, snippet as string), "utf8"));
  });
});
