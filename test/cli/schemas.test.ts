import { execFileSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { beforeAll, describe, expect, it } from "vitest";
import type { Verb } from "../../src/cli/verb.ts";
import { VERBS } from "../../src/cli/verbs.ts";
import { buildCommandLine, COUNTER, makeWorkspace, type Outcome } from "./command-line.ts";
import { RELEASE } from "./release-workflow.ts";

const SCHEMA = JSON.parse(
  readFileSync(path.resolve(import.meta.dirname, "../../schemas/output.schema.json"), "utf8"),
) as { $defs: Record<string, object> };

const ajv = new Ajv2020({ allErrors: true, strict: false });
formats.default(ajv);
ajv.addSchema(SCHEMA, "output");

/** A workflow with a node of each kind of edge. */
const HELLO = `
import { z } from "zod";
import { compute, decision, defineWorkflow, end, loop } from "@osolmaz/pi-workflows";
const greet = compute({ title: "Greet", timeout: "1m", retry: { times: 2 }, output: z.string(), run: () => "hello" });
const good = decision({ choices: ["yes", "no"], choose: () => "yes" });
export default defineWorkflow({
  name: "hello", input: z.object({}), output: z.string(),
  startAt: "greet", nodes: { greet, good },
  edges: {
    greet: { next: "good", failure: end("done") },
    good: { yes: end("done"), no: loop("greet", { max: 3, exhausted: end("done") }) },
  },
  exits: { done: () => "hello" },
});
`;

/** The verbs that take `-o json`, each with its words joined by `-`. */
function jsonVerbs(verbs: readonly Verb[], lead = ""): string[] {
  return verbs.flatMap((verb) => {
    const takesJson = verb.flags?.some(({ choices }) => choices?.includes("json"));
    const own = takesJson ? [`${lead}${verb.name}`] : [];
    return [...own, ...jsonVerbs(verb.verbs ?? [], `${lead}${verb.name}-`)];
  });
}

/** What is wrong with a document that is to be of a definition. */
function faults(definition: string, document: unknown): string[] {
  const validate = ajv.getSchema(`output#/$defs/${definition}`);
  if (!validate) throw new Error(`schemas/output.schema.json has no ${definition}`);
  return validate(document) === true
    ? []
    : (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
}

/** A manager whose one effect can't be told. */
const LOST = `
import { defineResourceManager } from "@osolmaz/pi-workflows/resource-managers";
export default defineResourceManager({
  name: "lost",
  initialStatus: () => ({}),
  async reconcile(ctx) {
    await ctx.finalizers.add("lost/stays");
    await ctx.effects.ensure({
      key: "send",
      kind: "letter",
      request: { to: "Ada" },
      observe: () => Promise.resolve({ state: "unknown", reason: "nobody answers" }),
      apply: () => Promise.reject(new Error("the line was cut")),
    });
    return ctx.settled();
  },
});
`;

beforeAll(buildCommandLine);

it("every verb that takes -o json has its form in schemas/output.schema.json", () => {
  const verbs = jsonVerbs(VERBS);
  expect(verbs).toContain("effect-resolve");
  expect(verbs.filter((verb) => !(verb in SCHEMA.$defs))).toEqual([]);
});

describe("-o json is as schemas/output.schema.json says, and nothing else is on stdout", () => {
  const workspace = makeWorkspace();
  const { run, write, project } = workspace;
  const seen = new Set<string>();

  const git = (...args: string[]) =>
    execFileSync("git", ["-C", project, "-c", "user.name=Ada", "-c", "user.email=a@b.c", ...args], {
      stdio: "pipe",
    });
  const commit = (message: string) => {
    git("add", "--all");
    git("commit", "--quiet", "--message", message);
  };
  const spec = (resourceManager: string, key: string, members: object = {}) =>
    JSON.stringify({ resourceManager, key, spec: { value: 1 }, labels: { a: "b" }, ...members });

  const check = (definition: string, document: unknown, args: string[]) => {
    expect(faults(definition, document), `${args.join(" ")}\n${JSON.stringify(document)}`).toEqual(
      [],
    );
    seen.add(definition);
  };
  /** Runs, and checks the one document that the whole of stdout must be. */
  const one = async (definition: string, args: string[], code = 0) => {
    const outcome = await run([...args, "-o", "json"]);
    expect(outcome, `${args.join(" ")}\n${outcome.stdout}`).toMatchObject({ code, stderr: "" });
    const document = JSON.parse(outcome.stdout) as never;
    check(definition, document, args);
    return document;
  };
  const many = (commands: [definition: string, ...args: string[]][]) =>
    Promise.all(commands.map(([definition, ...args]) => one(definition, args)));
  /** Runs until stdout holds `enough` lines, and checks each. */
  const stream = async (definition: string, args: string[], enough = 1) => {
    const outcome: Outcome = await run([...args, "-o", "json"], {
      onOutput: (text, child) => {
        if (text.split("\n").length > enough) child.kill("SIGINT");
      },
    });
    const lines = outcome.stdout.trimEnd().split("\n");
    for (const line of lines) check(definition, JSON.parse(line), args);
    expect(lines.length).toBeGreaterThanOrEqual(enough);
  };
  const failure = async (exit: number, args: string[]): Promise<string> => {
    const { error } = (await one("error", args, exit)) as { error: { code: string } };
    return error.code;
  };

  it("where nothing is there yet, and where a command fails", async () => {
    write("broken/b.resource.json", '{ "resourceManager": "counter", ');
    const codes = await Promise.all([
      failure(2, ["get", "greeting", "nope"]),
      failure(2, ["get", "--nonsense"]),
      failure(5, ["server", "status"]),
      failure(2, ["apply", "-f", "broken", "--verbose"]),
    ]);
    expect(codes).toEqual(["NOT_FOUND", "USAGE", "SERVER_UNREACHABLE", "INVALID_SPECS"]);
    await one("diff", ["diff", "-f", "broken"], 2);
    await many([
      ["get", "get"],
      ["effects", "effects"],
      ["events", "events"],
      ["resource-managers", "resource-managers"],
      ["sync-status", "sync", "status"],
      ["sync-prunes", "sync", "prunes"],
      ["server-stop", "server", "stop"],
    ]);
    rmSync(path.join(project, "broken"), { recursive: true });
  });

  it("from a first apply on", async () => {
    await workspace.ok(["init"]);
    write(".pi/resource-managers/counter.resource-manager.ts", COUNTER);
    write(".pi/resource-managers/lost.resource-manager.ts", LOST);
    write("specs/one.resource.json", spec("counter", "one", { dependsOn: ["counter/two"] }));
    write("specs/two.resource.json", spec("counter", "two", { prune: false }));
    git("init", "--quiet", "--initial-branch=main");
    commit("specs");
    await one("server-start", ["server", "start"]);
    await one("apply", ["apply", "lost", "a", "{}"]);
    await one("diff", ["diff", "-f", "specs"], 1);
    await one("apply", ["apply", "-f", "specs", "--dry-run"]);
    await one("apply", ["apply", "-f", "specs", "--wait"]);
    write("specs/two.resource.json", spec("counter", "two", { spec: { value: 2 } }));
    await one("diff", ["diff", "-f", "specs"], 1);
    const receipt = await one("apply", ["apply", "-f", "specs", "--wait"]);
    expect(receipt).toMatchObject({ waited: [{ state: "met" }, { state: "met" }] });
  });

  it("where one resource is acted on", async () => {
    await one("wait", ["wait", "lost", "a", "--for", "condition=EffectIndeterminate"]);
    await one("suspend", ["suspend", "counter", "one"]);
    await one("wait", ["wait", "counter", "one", "--for", "condition=Gone"], 1);
    await one("resume", ["resume", "counter", "one"]);
    await one("reconcile", ["reconcile", "counter"]);
    const never = ["wait", "counter", "one", "--for", "condition=Never", "--timeout", "10ms"];
    expect(await failure(4, never)).toBe("WAIT_TIMEOUT");
    expect(await failure(3, ["delete", "counter", "one"])).toBe("NEEDS_CONFIRMATION");
  });

  it("where it is looked at", async () => {
    const [list] = await many([
      ["get", "get", "-A"],
      ["get", "get", "counter", "one"],
      ["describe", "describe", "lost", "a"],
      ["resource-manager", "resource-manager", "counter", "two"],
      ["resource-managers", "resource-managers"],
      ["why", "why", "counter", "two"],
      ["why", "why", "lost", "a"],
      ["events", "events"],
      ["history", "history", "counter", "two", "--diff"],
      ["blame", "blame", "counter", "two"],
      ["effects", "effects", "--open"],
      ["server-status", "server", "status"],
    ]);
    expect(list).toMatchObject({ items: [{}, {}, {}] });
    await Promise.all([
      stream("server-logs", ["server", "logs", "--follow"]),
      stream("events-follow", ["events", "--follow"], 4),
      stream("get-watch", ["get", "--watch"], 3),
      stream("diff-watch", ["diff", "--watch", "-f", "specs"]),
    ]);
  });

  it("where workflows are looked at", async () => {
    write(".pi/workflows/hello.workflow.ts", HELLO);
    write(".pi/workflows/broken.workflow.ts", "const = 1;");
    const [list] = await many([
      ["workflows", "workflows"],
      ["workflow-validate", "workflow", "validate", "hello"],
      ["workflow-graph", "workflow", "graph", "hello"],
      ["apply", "apply", "-f", "specs"],
    ]);
    expect(list).toMatchObject({ workflows: [{ problems: [{}] }, { nodes: 2 }] });
    expect(await failure(2, ["workflow", "validate"])).toBe("INVALID_DEFINITION");
    rmSync(path.join(project, ".pi/workflows"), { recursive: true });
  });

  it("where workflows are run", async () => {
    write(".pi/workflows/release.workflow.ts", RELEASE);
    const start = ["run", "start", "release", "--input", '{"version": "1", "token": "sesame"}'];
    const { run: begun } = (await one("run-start", start)) as { run: { runId: string } };
    const id = begun.runId;
    const waited = await one("run-wait", ["run", "wait", id], 3);
    expect(waited).toMatchObject({ run: { state: "waiting" }, questions: [{ node: "ask" }] });
    await many([
      ["run-show", "run", "show", id, "--inputs", "--outputs"],
      ["runs", "runs"],
    ]);
    await Promise.all([
      stream("runs-watch", ["runs", "--watch"]),
      stream("run-logs", ["run", "logs", id]),
    ]);
    await one("run-pause", ["run", "pause", id]);
    await one("run-resume", ["run", "resume", id]);
    write("crash", "");
    await one("run-answer", ["run", "answer", id, "yes"]);
    await one("run-wait", ["run", "wait", id], 3);
    await one("run-show", ["run", "show", id]);
    await one("run-resolve", ["run", "resolve", id, "--failed", "it was not done"]);
    await one("run-wait", ["run", "wait", id], 1);
    expect(await failure(4, [...start, "--timeout", "1ms"])).toBe("WAIT_TIMEOUT");
    const { run: again } = (await one("run-retry", ["run", "retry", id])) as {
      run: { runId: string };
    };
    await one("run-cancel", ["run", "cancel", again.runId]);
    expect(await failure(2, ["run", "answer", id, "yes"])).toBe("NO_QUESTION");
    rmSync(path.join(project, ".pi/workflows"), { recursive: true });
    rmSync(path.join(project, "crash"));
  });

  it("where an effect is settled and resources are deleted", async () => {
    await one("delete", ["delete", "lost", "a", "--yes"]);
    await one("effect-resolve", ["effect", "resolve", "lost", "a", "send", "--applied"]);
    await one("apply", ["apply", "lost", "b", "{}"]);
    await one("wait", ["wait", "lost", "b", "--for", "condition=EffectIndeterminate"]);
    const receipt = await one("delete", ["delete", "lost", "b", "--yes", "--force-finalizers"]);
    expect(receipt).toMatchObject({ removed: true, unsettledEffects: [{ key: "send" }] });
    await one("delete", ["delete", "counter", "one", "--yes", "--wait"]);
    await one("undelete", ["undelete", "counter", "one"]);
  });

  it("where sync follows a branch, is in conflict, and holds a prune", async () => {
    const people = path.join(project, ".pi/resources/people.resource.ts");
    await one("sync-enable", ["sync", "enable", "--max-deletes", "0"]);
    await stream("sync-status-watch", ["sync", "status", "--watch"]);
    await one("apply", ["apply", "greeting", "hello", '{"file":"h","text":"t"}', "--force"]);
    const setRight = await one("sync-now", ["sync", "now"]);
    expect(setRight).toMatchObject({ report: { drift: [{ key: "hello", setRight: true }] } });
    rmSync(people);
    write(".pi/resources/two.resource.json", spec("counter", "two"));
    write(".pi/resources/broken.resource.json", "{");
    commit("two are gone, one is another's, one is broken");
    const blocked = await one("sync-now", ["sync", "now"], 3);
    expect(blocked).toMatchObject({ report: { pendingPrune: { state: "blocked" } } });
    rmSync(path.join(project, ".pi/resources/broken.resource.json"));
    commit("mended");
    const held = await one("sync-now", ["sync", "now"], 3);
    const { report } = held as { report: { conflicts: string[]; pendingPrune: { hash: string } } };
    expect(report.conflicts).toHaveLength(1);
    await one("sync-suspend", ["sync", "suspend"]);
    await one("sync-resume", ["sync", "resume"]);
    await one("sync-status", ["sync", "status", "-A"], 3);
    await one("sync-confirm-prune", ["sync", "confirm-prune", report.pendingPrune.hash]);
    await one("sync-prunes", ["sync", "prunes"]);
    await one("sync-disable", ["sync", "disable"]);
  });

  it("where the installation is looked after", async () => {
    const file = path.join(project, "../backup");
    await one("backup", ["backup", file]);
    await one("doctor", ["doctor"], 1);
    await one("repair", ["repair", "--dry-run"]);
    await one("prune-history", ["prune-history", "--older-than", "1s", "--dry-run"]);
    expect(await failure(5, ["restore", file, "--yes"])).toBe("SERVER_RUNNING");
    await one("server-stop", ["server", "stop"]);
    await one("restore", ["restore", file, "--yes"]);
  });

  it("and every form that the schema names was seen", () => {
    const forms = Object.keys(SCHEMA.$defs).filter(isForm);
    expect(forms.filter((form) => !seen.has(form))).toEqual([]);
  });
});

it("a member that the schema does not name is a fault, and so is a missing one", () => {
  expect(faults("reconcile", { enqueued: 1 })).toEqual([]);
  expect(faults("reconcile", { enqueued: 1, more: true })).toHaveLength(1);
  expect(faults("reconcile", {})).toHaveLength(1);
});

/** Definitions that verbs share have names that begin with another letter. */
function isForm(name: string): boolean {
  return /^[a-z]/.test(name);
}
