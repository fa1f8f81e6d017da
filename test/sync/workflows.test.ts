import { hash } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { Client, SyncStatus } from "../../src/server/protocol.ts";
import type { Listing } from "../../src/server/sync/source.ts";
import { workflowsAreStale } from "../../src/server/sync/workflows.ts";
import { eventually } from "../server/server-process.ts";
import { tempFolder } from "../server/temp.ts";
import { ensureBuilt } from "../support/dist.ts";
import {
  buildResolver,
  conditionOf,
  enabled,
  sizes,
  syncedTo,
  syncServer,
  widgetRepository,
  writeWidgets,
  type Repo,
} from "./syncing.ts";

beforeAll(() => {
  buildResolver();
  ensureBuilt("src/workflows/index.ts");
});

const FOLDER = ".pi/workflows";

function workflow(name: string, text = "hello", more = ""): string {
  return `
import { z } from "zod";
import { compute, defineWorkflow, end } from "@osolmaz/pi-workflows";
${more}
const greet = compute({ output: z.string(), run: () => ${JSON.stringify(text)} });
export default defineWorkflow({
  name: "${name}", input: z.object({}), output: z.string(),
  startAt: "greet", nodes: { greet }, edges: { greet: end("done") },
  exits: { done: ({ output }) => output(greet) },
});
`;
}

/** Accepted workflows: name and the beginning of the digest. */
async function digests(client: Client, project: string): Promise<Record<string, string>> {
  const records = await client.workflows(project);
  return Object.fromEntries(records.map(({ name, digest }) => [name, digest.slice(0, 12)]));
}

function messages({ report }: SyncStatus): string[] {
  return (report.workflowProblems ?? []).map(({ file, message }) => `${file}: ${message}`);
}

async function synced(client: Client, repo: Repo, message: string): Promise<SyncStatus> {
  return syncedTo(client, repo.folder, repo.commit(message));
}

describe("a committed workflow", () => {
  it("is accepted with the specs, and again when only it or what it imports changed", async () => {
    const repo = widgetRepository();
    writeWidgets(repo, { a: 1 });
    repo.write(`${FOLDER}/hello.workflow.ts`, workflow("hello", "hi", 'import "../../lib.ts";'));
    repo.write("lib.ts", "export {};\n");
    repo.commit("a workflow");
    const { client } = await syncServer();
    const first = await enabled(client, repo);
    expect(messages(first)).toEqual([]);
    expect(await sizes(client, repo.folder)).toEqual({ a: 1 });
    const before = await digests(client, repo.folder);
    expect(Object.keys(before)).toEqual(["hello"]);

    repo.write("lib.ts", "export {}; // changed\n");
    await synced(client, repo, "its import");
    const after = await digests(client, repo.folder);
    expect(after["hello"]).not.toBe(before["hello"]);

    repo.write(`${FOLDER}/second.workflow.ts`, workflow("second"));
    await synced(client, repo, "another one");
    expect(Object.keys(await digests(client, repo.folder)).sort()).toEqual(["hello", "second"]);
  });

  it("is accepted where there is no spec at all", async () => {
    const repo = widgetRepository();
    repo.write(`${FOLDER}/hello.workflow.ts`, workflow("hello"));
    repo.commit("only a workflow");
    const { client } = await syncServer();
    await enabled(client, repo);
    expect(Object.keys(await digests(client, repo.folder))).toEqual(["hello"]);
  });

  it("that is broken is reported until it is mended, and blocks neither specs nor prune (A-5)", async () => {
    const repo = widgetRepository();
    writeWidgets(repo, { a: 1, b: 1 });
    repo.write(`${FOLDER}/hello.workflow.ts`, "const = 1;\n");
    repo.commit("broken");
    const { client } = await syncServer();
    const first = await enabled(client, repo);
    const problem = `${FOLDER}/hello.workflow.ts: Expected identifier but found "="`;
    expect(messages(first)).toEqual([problem]);
    expect(first.report.problems).toEqual([]);
    expect(first.report.attempted?.outcome).toBe("applied");
    expect(conditionOf(first, "SourceValid").status).toBe(true);
    expect(await sizes(client, repo.folder)).toEqual({ a: 1, b: 1 });

    repo.git("rm", "--quiet", ".pi/resources/b.resource.json");
    expect(messages(await synced(client, repo, "without b"))).toEqual([problem]);
    expect(await sizes(client, repo.folder)).toEqual({ a: 1 });

    repo.write(`${FOLDER}/hello.workflow.ts`, workflow("hello"));
    expect(messages(await synced(client, repo, "mended"))).toEqual([]);
    expect(Object.keys(await digests(client, repo.folder))).toEqual(["hello"]);
  });

  it("is not hidden by a file that is not committed; a suspended set accepts none", async () => {
    const repo = widgetRepository();
    writeWidgets(repo, { a: 1 });
    repo.commit("specs");
    const { client, home } = await syncServer();
    const user = path.join(home, "workflows/wide.workflow.ts");
    repo.write(path.relative(repo.folder, user), workflow("wide"));
    repo.write(`${FOLDER}/wide.workflow.ts`, "throw new Error();\n");
    await client.syncEnable({ project: repo.folder });
    await client.syncSuspend(repo.folder);
    await client.syncNow(repo.folder);
    expect(await digests(client, repo.folder)).toEqual({});
    await client.syncResume(repo.folder);
    const status = await client.syncNow(repo.folder);
    expect(messages(status)).toEqual([]);
    expect(await client.workflows(repo.folder)).toMatchObject([
      { name: "wide", scope: "global", path: user },
    ]);
  });
});

describe("a workflow in a work tree", () => {
  it("is accepted as it is saved, without a spec having changed", async () => {
    const repo = widgetRepository();
    writeWidgets(repo, { a: 1 });
    repo.commit("specs");
    const { client } = await syncServer();
    await enabled(client, repo, { workingTree: true });
    expect(await digests(client, repo.folder)).toEqual({});

    repo.write(`${FOLDER}/hello.workflow.ts`, workflow("hello"));
    const first = await eventually(() => accepted(client, repo));
    repo.write(`${FOLDER}/hello.workflow.ts`, workflow("hello", "changed"));
    await eventually(async () => {
      if ((await accepted(client, repo)) === first) throw new Error("not yet");
    });
    repo.write(`${FOLDER}/hello.workflow.ts`, "const = 1;\n");
    await eventually(async () => {
      const [status] = await client.syncStatus(repo.folder);
      if (!status || messages(status).length === 0) throw new Error("not yet");
    });
    rmSync(path.join(repo.folder, FOLDER), { recursive: true });
    await eventually(async () => {
      const [status] = await client.syncStatus(repo.folder);
      if (!status || messages(status).length > 0) throw new Error("not yet");
    });
  });
});

async function accepted(client: Client, repo: Repo): Promise<string> {
  const { hello } = await digests(client, repo.folder);
  if (hello === undefined) throw new Error("not yet");
  return hello;
}

describe("workflows are loaded again", () => {
  const listing = (changed: string[] | undefined, hasWorkflows = true): Listing => ({
    specs: new Map(),
    problems: [],
    hasWorkflows,
    absentRoots: [],
    changed: changed && new Set(changed),
    isOfDisk: false,
  });
  const known = { inputs: [], globalInputs: [], globalNames: [], problems: [] };
  const memory = { ...known, inputs: [{ path: "/project/lib/a.ts", sha256: "x" }] };
  const state = { project: "/project", globalFolder: "/none/managers", memory };

  it("never where there are none", () => {
    const none = { ...state, memory: undefined };
    expect(workflowsAreStale(none, listing(undefined, false))).toBe(false);
    expect(workflowsAreStale(state, listing([`${FOLDER}/gone.workflow.ts`], false))).toBe(false);
  });

  it("where a file of one changed, and not where others did", () => {
    expect(workflowsAreStale(state, listing([]))).toBe(false);
    expect(workflowsAreStale(state, listing(["README.md", ".pi/resources/a.resource.json"]))).toBe(
      false,
    );
    expect(workflowsAreStale(state, listing([`${FOLDER}/new.workflow.ts`]))).toBe(true);
    expect(workflowsAreStale(state, listing(["lib/a.ts"]))).toBe(true);
  });

  it("where nothing is known, or one had a problem", () => {
    const problem = { file: "a", line: 1, column: 1, path: "", message: "is wrong" };
    expect(workflowsAreStale({ ...state, memory: undefined }, listing([]))).toBe(true);
    expect(workflowsAreStale(state, listing(undefined))).toBe(true);
    const wrong = { ...state, memory: { ...known, problems: [problem] } };
    expect(workflowsAreStale(wrong, listing([]))).toBe(true);
  });

  it("where one of the user's is new, changed or gone", () => {
    const folder = tempFolder();
    const user = { ...state, globalFolder: path.join(folder, "managers") };
    const file = path.join(folder, "workflows/wide.workflow.ts");
    expect(workflowsAreStale(user, listing([]))).toBe(false);
    mkdirSync(path.dirname(file));
    writeFileSync(file, "one");
    expect(workflowsAreStale(user, listing([]))).toBe(true);
    const sha256 = hash("sha256", "one", "hex");
    const after = {
      ...user,
      memory: {
        ...known,
        globalNames: ["wide.workflow.ts"],
        globalInputs: [{ path: file, sha256 }],
      },
    };
    expect(workflowsAreStale(after, listing([]))).toBe(false);
    writeFileSync(file, "two");
    expect(workflowsAreStale(after, listing([]))).toBe(true);
    rmSync(file);
    expect(workflowsAreStale(after, listing([]))).toBe(true);
  });
});
