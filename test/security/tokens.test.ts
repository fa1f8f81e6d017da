import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { eventually, signal, type ServerHandle } from "../e2e/stage.ts";
import { submits } from "../pi/support/agents.ts";
import { NEWEST_PI } from "../pi/support/installed.ts";
import { lifetimeOfSuite } from "../pi/support/machine.ts";
import { setPiStage, type PiStage } from "../pi/support/stage.ts";
import { APART, callOf, LEAVES } from "./every-verb.ts";
import { childrenOf, type Seen } from "./processes.ts";

/** Of no shape that is known as a credential: where they are not found they were never written. */
const TOKENS = {
  GITHUB_TOKEN: "planted-for-managers-5d0c7f1b",
  ANTHROPIC_API_KEY: "planted-for-models-83c1d4e2",
  OTEL_EXPORTER_OTLP_HEADERS: "authorization=planted-for-spans-19af",
};
const VALUES = Object.values(TOKENS).map((value) => value.replace("authorization=", ""));
const [MANAGERS = "", MODELS = "", SPANS = ""] = VALUES;

/** Whose environment may hold which; whoever is not here has none. By what the arguments say. */
const HOLDERS: readonly [what: string, pattern: RegExp, values: readonly string[]][] = [
  ["server", /dist\/server\/main\.js|^pi-workflows server/, VALUES],
  ["command line", /dist\/cli\/main\.js/, VALUES],
  ["resolver", /resolver-child/, []],
  ["runner", /runner\/child\.js|^pi-workflows runner/, [MANAGERS]],
  ["command of a workflow", /a-command-of-a-workflow/, [MANAGERS]],
  ["Pi", /pi-coding-agent|--mode\0rpc|^pi[ \0]/, [MODELS]],
  ["command of Pi", /a-command-of-pi/, [MODELS]],
  // Of either command.
  ["sleep", /^sleep\0/, [MANAGERS, MODELS]],
  ["lifeline", /pi-workflows-lifeline/, []],
  ["git", /(?:^|\/)git\0/, []],
];

const MANAGER = `
import { conditionTrue, defineResourceManager } from "@osolmaz/pi-workflows/resource-managers";
import { z } from "zod";
export default defineResourceManager({
  name: "user", spec: z.object({}), initialStatus: () => ({}),
  async reconcile(ctx) {
    const { GITHUB_TOKEN = "" } = process.env;
    ctx.log.info("it is there", { length: GITHUB_TOKEN.length });
    return ctx.settled({ conditions: [conditionTrue("Ready", "Used", String(GITHUB_TOKEN.length))] });
  },
});
`;

/** Waits for a file without a program of its own, so that the shell's arguments are what is seen. */
const wait = (name: string) =>
  `touch ${name}; while ! [ -e go ]; do sleep 0.05; done; : a-command-of-${name}`;

const WORKFLOW = `
import { agent, compute, defineWorkflow, end, parallel, shell } from "@osolmaz/pi-workflows";
import { z } from "zod";
const both = compute({ run: () => null });
const command = shell({ shell: ${JSON.stringify(wait("a-workflow"))}, safety: "idempotent" });
const think = agent({ prompt: "think", output: z.number(), tools: ["bash"], safety: "idempotent" });
const joined = compute({ run: () => null });
export default defineWorkflow({
  name: "all", input: z.object({}), output: z.number(), startAt: "both", nodes: { both, command, think, joined },
  edges: { both: parallel(["command", "think"], { join: "joined" }), command: "joined", think: "joined", joined: end("done") },
  exits: { done: ({ output }) => output(think) },
});
`;

const isLinux = process.platform === "linux";

describe.skipIf(!isLinux)("tokens of the environment of a server that does all it can", () => {
  const lifetime = lifetimeOfSuite();
  const seen = new Map<string, Seen>();
  let atOnce: Seen[] = [];
  let set: PiStage;
  let server: ServerHandle;
  let run = "";

  beforeAll(async () => {
    set = await setPiStage(lifetime, NEWEST_PI);
    const { stage, provider } = set;
    Object.assign(stage.env, TOKENS);
    stage.write(".pi/resource-managers/user.resource-manager.ts", MANAGER);
    stage.write(".pi/workflows/all.workflow.ts", WORKFLOW);
    stage.write(".pi/resources/a.resource.json", { resourceManager: "user", key: "a", spec: {} });
    stage.commit("one");
    provider.answerBy(({ messages }) => {
      if (messages.at(-1)?.role === "tool") return submits(4);
      return { calls: [{ name: "bash", arguments: { command: wait("pi") } }] };
    });
    const watching = setInterval(() => remember(), 30);
    try {
      await doEverything();
    } finally {
      clearInterval(watching);
    }
  });

  function remember(): Seen[] {
    const now = childrenOf(process.pid);
    for (const one of now) seen.set(`${one.pid} ${one.command}`, one);
    return now;
  }

  async function doEverything(): Promise<void> {
    const { stage } = set;
    server = await stage.startServer();
    await stage.ok(["sync", "enable"]);
    await stage.ok(["wait", "user", "a", "--timeout", "2m"]);
    const started = await stage.run(["run", "start", "all", "--input", "{}"]);
    run = /all (\w{8}) started/.exec(started.stderr + started.stdout)?.[1] ?? started.stderr;
    await eventually(() => {
      for (const name of ["a-workflow", "pi"]) statSync(path.join(stage.project, name));
    });
    atOnce = remember();
    stage.write("go", "");
    await stage.ok(["run", "wait", run]);
  }

  it("were all there to be told", async () => {
    const { stage } = set;
    const { status } = await stage.resource("user", "a");
    expect(JSON.stringify(status)).toContain(`"message":"${MANAGERS.length}"`);
    expect(await stage.ok(["run", "show", run])).toContain("succeeded");
    const missing = HOLDERS.filter(
      ([, pattern]) => ![...seen.values()].some(({ command }) => pattern.test(command)),
    );
    expect(missing.map(([what]) => what)).toEqual([]);
  });

  it("are in no process's arguments, and in no environment but of those that need them", () => {
    const told = [...seen.values()].flatMap(({ command, environment }) => {
      const holder = HOLDERS.find(([, pattern]) => pattern.test(command));
      const allowed = holder?.[2] ?? [];
      const wrong = VALUES.filter(
        (value) =>
          command.includes(value) || (environment.includes(value) && !allowed.includes(value)),
      );
      return wrong.length > 0 ? [`${command.replaceAll("\0", " ").slice(0, 200)}: ${wrong}`] : [];
    });
    expect(told).toEqual([]);
    const holds = (what: string, value: string) =>
      [...seen.values()].some(
        ({ command, environment }) =>
          HOLDERS.find(([, pattern]) => pattern.test(command))?.[0] === what &&
          environment.includes(value),
      );
    expect([holds("Pi", MODELS), holds("runner", MANAGERS), holds("server", SPANS)]).toEqual([
      true,
      true,
      true,
    ]);
  });

  it("are in no file: state, transcripts, project", () => {
    const { stage, machine } = set;
    const found: string[] = [];
    let files = 0;
    for (const root of [stage.root, machine.root]) {
      for (const name of readdirSync(root, { recursive: true, encoding: "utf8" })) {
        const file = path.join(root, name);
        if (!statSync(file, { throwIfNoEntry: false })?.isFile()) continue;
        files += 1;
        const text = readFileSync(file, "latin1");
        if (VALUES.some((value) => text.includes(value))) found.push(name);
      }
    }
    expect(files).toBeGreaterThan(20);
    expect(found).toEqual([]);
  });

  it("are in no output of a verb that only looks", async () => {
    const { stage } = set;
    const named = { manager: "user", key: "a", workflow: "all", run, backup: `${stage.root}/b` };
    const looks = LEAVES.filter(({ name }) => LOOKS.test(name) && !APART.includes(name));
    expect(looks.length).toBe(9);
    for (const leaf of looks) {
      const { stdout, stderr } = await stage.run(callOf(leaf, named));
      expect(stdout + stderr).not.toBe("");
      for (const value of VALUES) expect(stdout + stderr).not.toContain(value);
    }
  });

  it("are in no core file, since no process of ours puts its memory there", async () => {
    expect(atOnce.length).toBeGreaterThan(5);
    const dumping = atOnce.filter(({ coreFilter }) => !/^0+$/.test(coreFilter));
    expect(dumping.map(({ command }) => command)).toEqual([]);
    if (!canDump()) return;
    execFileSync("prlimit", [`--pid=${server.pid}`, "--core=unlimited"]);
    // Where it works is where the kernel leaves the file.
    const cwd = readlinkSync(`/proc/${server.pid}/cwd`);
    const before = new Set(readdirSync(cwd));
    signal(server.pid, "SIGABRT");
    expect(await server.ended).toBe("SIGABRT");
    const cores = readdirSync(cwd).filter((name) => !before.has(name) && name.startsWith("core"));
    expect(cores).toHaveLength(1);
    const core = readFileSync(path.join(cwd, cores[0] as string), "latin1");
    for (const value of VALUES) expect(core.includes(value)).toBe(false);
  });
});

/** Whether a core file is a file here, and may be had. */
function canDump(): boolean {
  const pattern = readFileSync("/proc/sys/kernel/core_pattern", "utf8").trim();
  const { status, stdout } = spawnSync("sh", ["-c", "ulimit -H -c; command -v prlimit"], {
    encoding: "utf8",
  });
  return pattern === "core" && status === 0 && stdout.startsWith("unlimited");
}

/** Those that test/e2e/secrets.test.ts does not try with a token. */
const LOOKS =
  /^(?:blame|run show|run logs|runs|sync status|server logs|doctor|metrics|workflow graph)$/;
