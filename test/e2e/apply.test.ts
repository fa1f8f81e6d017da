import { createHash } from "node:crypto";
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Database } from "better-sqlite3";
import { beforeAll, describe, expect, it } from "vitest";
import { buildAll, signal, Stage, type Lifetime } from "./stage.ts";

beforeAll(buildAll);

const NOTES = `
import { conditionTrue, defineResourceManager } from "@osolmaz/pi-workflows/resource-managers";
import { z } from "zod";
export default defineResourceManager({
  name: "note",
  spec: z.strictObject({ text: z.string(), length: z.number() }),
  initialStatus: () => ({}),
  reconcile: (ctx) => ctx.settled({ conditions: [conditionTrue("Ready", "Noted")] }),
});
`;
const SPECS = ["-f", ".pi/resources"];

function notesStage(test: Lifetime): Stage {
  const stage = new Stage(test);
  stage.write(".pi/resource-managers/note.resource-manager.ts", NOTES);
  return stage;
}

/** A note whose two fields belong together, so that half of an edit can be told. */
function note(key: string, text: string): object {
  return { resourceManager: "note", key, spec: { text, length: text.length } };
}

function writeNotes(stage: Stage, keys: string[], text: string): void {
  for (const key of keys) stage.write(`.pi/resources/${key}.resource.json`, note(key, text));
}

function removeNotes(stage: Stage, keys: string[]): void {
  for (const key of keys) rmSync(path.join(stage.project, `.pi/resources/${key}.resource.json`));
}

const numbered = (name: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${name}-${index}`);

type Actions = { actions: { kind: string; key: string }[]; id: string; planId?: string };
const kindsOf = ({ actions }: Actions) =>
  Object.fromEntries(actions.map(({ key, kind }) => [key, kind]));

describe("what diff shows is what apply does", () => {
  it("A-1: action by action, and afterwards there is nothing left to show", async (test) => {
    const stage = notesStage(test);
    writeNotes(stage, ["changed", "gone", "moved", "same"], "before");
    await stage.ok(["apply", ...SPECS]);
    writeNotes(stage, ["changed", "new"], "after");
    removeNotes(stage, ["gone"]);
    const from = path.join(stage.project, ".pi/resources/moved.resource.json");
    renameSync(from, path.join(stage.project, ".pi/resources/elsewhere.resource.json"));

    const shown = await stage.json<Actions>(["diff", ...SPECS, "--prune"], 1);
    expect(kindsOf(shown)).toEqual({
      changed: "update",
      gone: "prune",
      moved: "move",
      new: "create",
      same: "unchanged",
    });
    const done = await stage.json<Actions>(["apply", ...SPECS, "--prune", "--plan", shown.id]);
    expect(kindsOf(done)).toEqual(kindsOf(shown));
    const again = await stage.json<Actions>(["diff", ...SPECS, "--prune"]);
    expect(new Set(Object.values(kindsOf(again)))).toEqual(new Set(["unchanged"]));
  });

  it("A-1: a plan is refused once a file has changed after it", async (test) => {
    const stage = notesStage(test);
    writeNotes(stage, ["one"], "shown");
    const shown = await stage.json<Actions>(["diff", ...SPECS], 1);
    writeNotes(stage, ["one"], "edited since");
    const refused = await stage.run(["apply", ...SPECS, "--plan", shown.id]);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain("error[PLAN_STALE]");
    expect(await stage.ok(["get", "-o", "name"])).toBe("");
  });

  it("A-6: a large prune is held, and its hash prunes exactly what was shown", async (test) => {
    const stage = notesStage(test);
    const keys = numbered("note", 10);
    writeNotes(stage, keys, "here");
    await stage.ok(["apply", ...SPECS]);
    removeNotes(stage, keys.slice(0, 4));
    const held = await stage.run(["apply", ...SPECS, "--prune"]);
    expect(held.code).toBe(3);
    const hash = /--confirm-prune (\w+)/.exec(held.stderr)?.[1] as string;
    const left = async () => (await stage.ok(["get", "-o", "name"])).trim().split("\n");
    expect(await left()).toHaveLength(10);

    // One more file is gone: that set was never shown.
    removeNotes(stage, keys.slice(4, 5));
    const other = await stage.run(["apply", ...SPECS, "--prune", "--confirm-prune", hash]);
    expect(other.code).toBe(3);
    expect(await left()).toHaveLength(10);
    writeNotes(stage, keys.slice(4, 5), "here");

    await stage.ok(["apply", ...SPECS, "--prune", "--confirm-prune", hash]);
    expect(await left()).toEqual(keys.slice(4).map((key) => `note/${key}`));
  });
});

describe("diff writes nothing", () => {
  const bytes = ({ home }: Stage) =>
    ["state.sqlite", "state.sqlite-wal"].map((name) => {
      const file = path.join(home, name);
      // Whoever opens a database in WAL mode makes an empty log where there is none.
      const content = existsSync(file) ? readFileSync(file) : "";
      return createHash("sha256").update(content).digest("hex");
    });

  it("the database is byte-identical: with a server, after kill -9 of it, and after its stop", async (test) => {
    const stage = notesStage(test);
    writeNotes(stage, ["one", "two"], "first");
    const server = await stage.startServer();
    await stage.ok(["apply", ...SPECS, "--wait"]);
    writeNotes(stage, ["one"], "second");
    const diff = async () => {
      const before = bytes(stage);
      const shown = await stage.json<Actions>(["diff", ...SPECS], 1);
      expect(kindsOf(shown)).toEqual({ one: "update", two: "unchanged" });
      expect(bytes(stage)).toEqual(before);
    };
    await diff();
    signal(server.pid, "SIGKILL");
    await server.ended;
    expect(existsSync(path.join(stage.home, "state.sqlite-wal"))).toBe(true);
    await diff();
    await stage.startServer();
    await stage.stopServers();
    await diff();
  });

  it("where there is no database there is none afterwards, and no server", async (test) => {
    const stage = notesStage(test);
    writeNotes(stage, ["one"], "first");
    await stage.ok(["diff", ...SPECS], 1);
    expect(existsSync(path.join(stage.home, "state.sqlite"))).toBe(false);
    await stage.ok(["server", "status"], 5);
  });
});

describe("A-11: what an editor does to a file", () => {
  it("a half-written file changes nothing, and is named", async (test) => {
    const stage = notesStage(test);
    writeNotes(stage, ["one", "two"], "whole");
    await stage.ok(["apply", ...SPECS]);
    writeNotes(stage, ["one", "two"], "a later and longer text");
    const file = ".pi/resources/one.resource.json";
    const text = stage.read(file);
    stage.write(file, text.slice(0, text.length / 2));
    const refused = await stage.run(["apply", ...SPECS]);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(file);
    for (const key of ["one", "two"]) {
      expect(await stage.resource("note", key)).toMatchObject({
        metadata: { generation: 1 },
        spec: { text: "whole" },
      });
    }
    stage.write(file, text);
    expect(await stage.ok(["apply", ...SPECS])).toContain("2 updated");
  });

  it("an apply during atomic saves stores one whole version or another, and the last one in the end", async (test) => {
    const stage = notesStage(test);
    const versions = ["short", "a good deal longer ".repeat(2_000)];
    const target = path.join(stage.project, ".pi/resources/one.resource.json");
    let saves = 0;
    const save = (): void => {
      saves += 1;
      writeFileSync(`${target}~`, JSON.stringify(note("one", versions[saves % 2] as string)));
      renameSync(`${target}~`, target);
    };
    writeNotes(stage, ["one"], "before");
    const editing = setInterval(save, 1);
    try {
      for (let count = 0; count < 4; count += 1) await stage.ok(["apply", ...SPECS]);
    } finally {
      clearInterval(editing);
    }
    expect(saves).toBeGreaterThan(4);
    save();
    await stage.ok(["apply", ...SPECS]);
    const stored = await stage.json<{ generations: { spec: { text: string; length: number } }[] }>([
      "history",
      "note",
      "one",
    ]);
    for (const { spec } of stored.generations) expect(spec.length).toBe(spec.text.length);
    expect(stored.generations[0]?.spec.text).toBe(versions[saves % 2]);
  });
});

describe("A-10: kill -9 of the server in mid-batch", () => {
  const BASE = numbered("base", 4);
  /** Large enough that the bodies are written ahead, in several transactions. */
  const textOf = (turn: number) => `${turn} `.repeat(100_000);
  // Writes and prunes are batches of their own, in this order.
  const POINTS: { points: string[]; done: "nothing" | "writes" | "all" }[] = [
    { points: ["store.stage.written"], done: "nothing" },
    { points: ["store.stage.committed*1"], done: "nothing" },
    { points: ["store.applyBatch.written"], done: "nothing" },
    { points: ["store.applyBatch.written", "store.commit"], done: "nothing" },
    { points: ["store.applyBatch.written", "store.committed"], done: "writes" },
    { points: ["store.applyBatch.committed"], done: "writes" },
    { points: ["store.applyBatch.committed", "store.applyBatch.written"], done: "writes" },
    { points: ["store.applyBatch.committed*1"], done: "all" },
  ];

  it("leaves the whole batch or none of it, each resource with its queue row, and no orphans", async (test) => {
    const stage = notesStage(test);
    const prune = ["--prune", "--max-deletes", "100%"];
    writeNotes(stage, [...BASE, ...numbered("turn-0", 4)], textOf(0));
    await stage.ok(["apply", ...SPECS, "--wait"]);
    await stage.ok(["server", "stop"]);
    let before = stage.inspect(resourcesIn);

    for (const [index, { points, done }] of POINTS.entries()) {
      const turn = index + 1;
      removeNotes(stage, numbered(`turn-${turn - 1}`, 4));
      writeNotes(stage, [...BASE, ...numbered(`turn-${turn}`, 4)], textOf(turn));
      const server = await stage.startServer({ victim: "server", points });
      const broken = await stage.run(["apply", ...SPECS, ...prune]);
      expect({ points, code: broken.code }).toEqual({ points, code: 5 });
      expect(await server.ended).toBe("SIGKILL");

      const found = stage.inspect(resourcesIn);
      const written = [...BASE, ...numbered(`turn-${turn}`, 4)];
      const pruned = numbered(`turn-${turn - 1}`, 4);
      if (done === "nothing") {
        expect(found).toEqual(before);
      } else {
        const left = done === "all" ? written : [...written, ...pruned];
        expect(found.map(({ key }) => key)).toEqual(left.sort());
        const changed = found.filter(({ key }) => written.includes(key));
        expect(changed.every(({ length }) => length === textOf(turn).length)).toBe(true);
        expect(changed.every(({ queued }) => queued === 1)).toBe(true);
      }

      await stage.startServer();
      expect(stage.inspect(orphansIn)).toEqual({ staged: 0, bodies: 0 });
      await stage.ok(["apply", ...SPECS, ...prune, "--wait"]);
      await stage.stopServers();
      before = stage.inspect(resourcesIn);
    }
    await stage.ok(["diff", ...SPECS, ...prune]);
    expect(stage.inspect((database) => database.pragma("integrity_check", { simple: true }))).toBe(
      "ok",
    );
  });
});

type Row = { key: string; generation: number; length: number; queued: number };

function resourcesIn(database: Database): Row[] {
  return database
    .prepare<[], Row>(
      `SELECT r.key, r.generation, json_extract(b.body, '$.length') AS length,
         (SELECT count(*) FROM queue q WHERE q.resource_id = r.id) AS queued
       FROM resource r JOIN spec_body b ON b.id = r.body_id WHERE r.state = 'live' ORDER BY r.key`,
    )
    .all();
}

function orphansIn(database: Database): { staged: number; bodies: number } {
  return database
    .prepare<[], { staged: number; bodies: number }>(
      `SELECT (SELECT count(*) FROM staged_body) AS staged,
         (SELECT count(*) FROM spec_body b WHERE NOT EXISTS (
           SELECT 1 FROM resource r WHERE r.body_id = b.id
           UNION ALL SELECT 1 FROM generation g WHERE g.body_id = b.id)) AS bodies`,
    )
    .get() as { staged: number; bodies: number };
}
