import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startGitHub, type GitHub } from "../github/stand-in.mjs";
import { askForMerge, MANAGER, mergeOf, pullRequestStage } from "./pull-requests.ts";
import { buildAll, type Stage } from "./stage.ts";

/**
 * Neither value has the shape of a known credential: where they are not found, it is because they
 * were never written, and not because they were recognised.
 */
const TOKEN = "e2e-token-5d0c7f1b9a";
const SECRET = "e2e-secret-83c1d4e2f7";
const NEW_SECRET = "e2e-secret-changed-19";

/** A manager whose spec has a secret field, which it uses and never says. */
const VAULT = `
import { createHash } from "node:crypto";
import { conditionTrue, defineResourceManager } from "@osolmaz/pi-workflows/resource-managers";
import { z } from "zod";
export default defineResourceManager({
  name: "vault",
  spec: z.strictObject({ user: z.string(), password: z.string().min(8).meta({ secret: true }) }),
  initialStatus: () => ({}),
  async reconcile(ctx, resource) {
    const digest = createHash("sha256").update(resource.spec.password).digest("hex");
    const login = await ctx.effects.ensure({
      key: "login:" + resource.metadata.generation,
      kind: "login",
      request: { user: resource.spec.user, digest },
      observe: () => Promise.resolve({ state: "absent" }),
      apply: () => Promise.resolve({ externalRef: "session-1" }),
    });
    ctx.log.info("logged in", { as: resource.spec.user });
    return ctx.settled({ conditions: [conditionTrue("Ready", "LoggedIn", login.externalRef)] });
  },
});
`;

let github: GitHub;
let stage: Stage;
let pull: { key: string };
let close = async () => {};
const argumentsSeen = new Set<string>();

beforeAll(async () => {
  buildAll();
  github = await startGitHub();
  github.grant(TOKEN, "shepherd");
  stage = pullRequestStage(
    { onTestFinished: (clean) => void (close = clean) },
    { GITHUB_TOKEN: TOKEN, GITHUB_API_URL: github.url },
  );
  await runEverything();
});
afterAll(async () => {
  await close();
  await github.close();
  github.endTest();
});

/** A merge with a report and a fault, and a secret that changes: all that leaves traces. */
async function runEverything(): Promise<void> {
  const asked = await askForMerge(stage, github, () => ({ report: "comment" }));
  pull = asked;
  stage.write(".pi/resource-managers/vault.resource-manager.ts", VAULT);
  writeVault(SECRET);
  let goOn = () => {};
  const gate = new Promise<void>((resolve) => (goOn = resolve));
  github.fault({ ...mergeOf(asked), act: { kind: "apply-502" } });
  const watching = setInterval(rememberArguments, 25);
  try {
    const reads = { method: "GET", path: new RegExp(`^/repos/${asked.repository}/pulls/`) };
    const rule = github.fault({ ...reads, act: { kind: "first", run: () => gate } });
    await stage.ok(["apply", "-f", ".pi/resources"]);
    await rule.hit;
    // A pass is in the middle of a call: its runner has the token now.
    rememberArguments();
    goOn();
    await stage.ok(["wait", MANAGER, asked.key, "--timeout", "2m"]);
    writeVault(NEW_SECRET);
    await stage.ok(["apply", "-f", ".pi/resources", "--wait", "--timeout", "2m"]);
  } finally {
    goOn();
    clearInterval(watching);
  }
}

function writeVault(password: string): void {
  const spec = { user: "ada", password };
  stage.write(".pi/resources/vault.resource.json", { resourceManager: "vault", key: "home", spec });
}

/** The arguments of every process of this machine: anybody may read them. */
function rememberArguments(): void {
  if (process.platform !== "linux") {
    argumentsSeen.add(execFileSync("ps", ["-A", "-ww", "-o", "args="], { encoding: "utf8" }));
    return;
  }
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      argumentsSeen.add(readFileSync(`/proc/${pid}/cmdline`, "utf8"));
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** Everything in the state folder, by file. */
function stateFiles(): Map<string, string> {
  const names = readdirSync(stage.home, { recursive: true, encoding: "utf8" });
  const files = names.filter((name) => statSync(path.join(stage.home, name)).isFile());
  return new Map(files.map((name) => [name, readFileSync(path.join(stage.home, name), "latin1")]));
}

const filesWith = (text: string) =>
  [...stateFiles()].filter(([, content]) => content.includes(text)).map(([name]) => name);

const LOOKS: string[][] = [
  ["get"],
  ["get", "-o", "wide"],
  ["get", "-o", "json"],
  ["get", "vault", "home", "-o", "json"],
  ["describe", "vault", "home"],
  ["describe", "vault", "home", "-o", "json"],
  ["history", "vault", "home"],
  ["history", "vault", "home", "--diff"],
  ["history", "vault", "home", "--diff", "-o", "json"],
  ["events"],
  ["events", "-o", "json"],
  ["effects"],
  ["effects", "-o", "json"],
  ["why", "vault", "home"],
  ["why", "vault", "home", "-o", "json"],
  ["resource-managers"],
  ["resource-managers", "-o", "json"],
  ["resource-manager", "vault", "home"],
  ["resource-manager", "vault", "home", "-o", "json"],
  ["server", "status"],
  ["server", "status", "-o", "json"],
  ["server", "logs"],
  ["types"],
];

describe("a token in the server's environment", () => {
  it("was really used, and its merge really happened", async () => {
    expect(github.merges).toHaveLength(1);
    expect(github.requests.every(({ headers }) => "authorization" in headers)).toBe(true);
    const { status } = await stage.resource(MANAGER, pull.key);
    expect(status.conditions).toContainEqual(
      expect.objectContaining({ type: "Ready", status: true, reason: "Merged" }),
    );
  });

  it("is in no file of the state folder: database, its log, logs, bundles", () => {
    expect(stateFiles().size).toBeGreaterThan(3);
    expect([...stateFiles().keys()]).toContain("state.sqlite");
    expect([...stateFiles().keys()]).toContain("state.sqlite-wal");
    expect(filesWith(TOKEN)).toEqual([]);
  });

  it("is in no argument of any process", () => {
    expect([...argumentsSeen].some((text) => text.includes("runner/child.js"))).toBe(true);
    expect([...argumentsSeen].some((text) => text.includes("runner/resolver-child"))).toBe(true);
    expect([...argumentsSeen].filter((text) => text.includes(TOKEN))).toEqual([]);
  });

  it("reached GitHub's comments and commits in no form", async () => {
    const written = JSON.stringify(github.writes);
    expect(written).toContain("comments");
    expect(written).not.toContain(TOKEN);
  });
});

/**
 * Promised: a field that the schema marks as secret is masked wherever it is shown, and reaches no
 * log, event, effect or argument. Not promised: that it is not stored. The spec is the desired state,
 * so its secret is in the spec file, and in the database as the stored spec and its history, in
 * files that only their owner may read.
 */
describe("a field of a spec that its schema marks as secret", () => {
  it("is in the database, which only its owner may read, and in no other file", () => {
    const database = ["state.sqlite", "state.sqlite-wal"];
    for (const secret of [SECRET, NEW_SECRET]) {
      const found = filesWith(secret);
      expect(found.length).toBeGreaterThan(0);
      expect(found.filter((name) => !database.includes(name))).toEqual([]);
    }
    expect(statSync(stage.home).mode & 0o077).toBe(0);
  });

  it("is stored as the spec and nowhere else: no event, effect, condition, status or pass", () => {
    const others = stage.inspect((database) => {
      const tables = database
        .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'")
        .pluck()
        .all();
      const holders = tables.filter((table) => {
        const rows = JSON.stringify(database.prepare(`SELECT * FROM "${table}"`).all());
        return rows.includes(SECRET) || rows.includes(NEW_SECRET);
      });
      return holders;
    });
    expect(others).toEqual(["spec_body"]);
  });

  it("is in no argument of any process", () => {
    const found = [...argumentsSeen].filter((text) => /e2e-secret/.test(text));
    expect(found).toEqual([]);
  });
});

describe("no verb prints either", () => {
  it.for(LOOKS.map((args) => ({ name: args.join(" "), args })))("$name", async ({ args }) => {
    const { stdout, stderr, code } = await stage.run(args);
    expect(code).toBe(0);
    expect(stdout).not.toBe("");
    for (const value of [TOKEN, SECRET, NEW_SECRET]) expect(stdout + stderr).not.toContain(value);
  });

  it.for(["table", "fields", "unified", "json", "markdown"])("diff -o %s", async (format) => {
    writeVault(`${NEW_SECRET}-again`);
    const { stdout, stderr, code } = await stage.run(["diff", "-f", ".pi/resources", "-o", format]);
    expect(code).toBe(1);
    expect(stdout).toContain("home");
    for (const value of [TOKEN, SECRET, NEW_SECRET]) expect(stdout + stderr).not.toContain(value);
  });

  it("history --diff shows that it changed", async () => {
    expect(await stage.ok(["history", "vault", "home", "--diff"])).toContain("spec.password");
    expect(await stage.ok(["history", "vault", "home", "--diff", "--show-secrets"])).toContain(
      SECRET,
    );
  });

  it("an error about a spec does not show its secrets, nor the lines that hold them", async () => {
    stage.write(
      ".pi/resources/vault.resource.json",
      `{\n  "resourceManager": "vault", "key": "home",\n  "spec": {\n    "user": 7,\n    "password": "${SECRET}"\n  }\n}\n`,
    );
    for (const format of ["table", "json"]) {
      const { stdout, stderr, code } = await stage.run([
        "apply",
        "-f",
        ".pi/resources",
        "-o",
        format,
      ]);
      expect(code).toBe(2);
      expect(stdout + stderr).toContain("spec.user");
      expect(stdout + stderr).not.toContain(SECRET);
    }
  });
});
