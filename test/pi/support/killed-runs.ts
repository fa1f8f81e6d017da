import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Database from "better-sqlite3";
import { expect } from "vitest";
import { PiWorkflowsError } from "../../../src/model/errors.ts";
import {
  hasEnded,
  type JournalEntry,
  type NodeResolution,
  type StoredRun,
} from "../../../src/model/run.ts";
import type { Client } from "../../../src/server/protocol.ts";
import type { RunAnswerRequest } from "../../../src/server/run-protocol.ts";
import { openReader } from "../../../src/store/sqlite/reader.ts";
import type { Stage } from "../../e2e/stage.ts";
import { expectedOutput, ONCE, World } from "./kill-workflow.ts";
import { LOOK_MS, type Killing, type Victim } from "./killing.ts";

/** As many as the server works on at once. */
const AT_ONCE = 4;
/** A run that has not ended by then hangs. */
const HANGS_MS = 180_000;

/** A kill: of whom, and how many milliseconds after the run's journal first names the node. */
export type Plan = { victim: Victim; node: string; delayMs: number };

/** What is known of a run for good: its journal, and how often what stands there was computed. */
type Known = { journal: JournalEntry[]; computed: Map<string, number> };

/** Runs that are killed while they run, and what must hold of them at every moment and in the end. */
export class KilledRuns {
  readonly #stage: Stage;
  readonly #killing: Killing;
  readonly #world: World;
  readonly #known = new Map<string, { id: string; known: Known }>();
  readonly #ended = new Set<string>();
  #isOver = false;

  constructor(stage: Stage, killing: Killing) {
    this.#stage = stage;
    this.#killing = killing;
    this.#world = new World(stage.root);
  }

  /** Sees every run to its end, a few at a time. */
  async all(plans: readonly Plan[]): Promise<void> {
    const left = plans.entries();
    const kills: Promise<void>[] = [];
    const work = async (): Promise<void> => {
      for (const [index, plan] of left) await this.#seeThrough(`run-${index}`, plan, kills);
    };
    try {
      await Promise.all(Array.from({ length: AT_ONCE }, work));
    } finally {
      this.#isOver = true;
      await Promise.all(kills);
    }
  }

  async #seeThrough(id: string, plan: Plan, kills: Promise<void>[]): Promise<void> {
    const input = { world: this.#world.folder, id };
    const { project } = this.#stage;
    const start = { project, workflow: "all-kinds", input, requestKey: id };
    const { runId } = await this.#killing.ask((client) => client.startRun(start));
    this.#known.set(runId, { id, known: { journal: [], computed: new Map() } });
    const began = performance.now();
    for (let isKilled = false; ; await sleep(LOOK_MS)) {
      const run = await this.#killing.ask((client) => client.run(runId));
      if (run === undefined) throw new Error(`${id} is lost`);
      if (!isKilled && (await this.#isAt(runId, plan.node))) {
        isKilled = true;
        kills.push(this.#kill(id, plan));
      }
      if (hasEnded(run)) return this.#check(id, run);
      if (performance.now() - began > HANGS_MS)
        throw new Error(`${id} hangs: ${JSON.stringify(run)}`);
      await this.#help(id, run);
    }
  }

  async #isAt(runId: string, node: string): Promise<boolean> {
    const journal = await this.#killing.ask((client) => client.journal(runId, { bodies: false }));
    return journal.some((line) => "node" in line && line.node === node);
  }

  async #kill(id: string, { victim, delayMs }: Plan): Promise<void> {
    await sleep(delayMs);
    const wanted = this.#world.runner(id);
    await this.#killing.kill(victim, {
      ...(wanted === undefined ? {} : { wanted }),
      // Kills that came too late would all meet the last run, whose retries they would use up.
      isOver: () => this.#isOver || this.#ended.has(id),
      look: () => this.#look(),
    });
  }

  /** What a person does: answers, and looks at the world where nobody knows what became of a node. */
  async #help(id: string, run: StoredRun): Promise<void> {
    const { runId, state, reason, node = "" } = run;
    const ask = <T>(question: (client: Client) => Promise<T>) => this.#killing.ask(question);
    if (state === "waiting") {
      mustBe({ reason, node }, { reason: "Checkpoint", node: "ask" });
      await ask((client) => answer(client, { runId, value: `on with ${id}` }));
    } else if (reason === "Ambiguous") {
      const isDone = this.#world.times(id, node) > 0;
      await ask((client) => resolve(client, runId, isDone ? node : undefined));
    } else if (state === "interrupted") {
      mustBe(reason, "Stalled");
      await ask((client) => client.resumeRun(runId));
    }
  }

  /**
   * After each kill: the database is sound; what is durable stays as it is, and what stands there is
   * never computed again; and nothing that may happen once has happened twice.
   */
  async #look(): Promise<void> {
    const file = path.join(this.#stage.home, "state.sqlite");
    mustBe(soundness(file), "ok");
    const reader = openReader(file);
    try {
      for (const [runId, { id, known }] of this.#known) {
        const outside = this.#world.lines(id).filter((line) => ONCE.includes(line));
        mustBe({ id, outside }, { id, outside: ONCE.slice(0, outside.length) });
        const journal = await journalOf(reader, runId);
        this.#known.set(runId, { id, known: this.#compare(id, known, journal) });
      }
    } finally {
      reader.close();
    }
  }

  #compare(id: string, before: Known, journal: JournalEntry[]): Known {
    const kept = journal.slice(0, before.journal.length);
    mustBe({ id, journal: kept }, { id, journal: before.journal });
    const computed = new Map<string, number>();
    for (const name of endedIn(journal)) {
      const times = this.#world.times(id, `pure ${name}`);
      mustBe({ id, name, times }, { id, name, times: before.computed.get(name) ?? times });
      computed.set(name, times);
    }
    return { journal, computed };
  }

  async #check(id: string, run: StoredRun): Promise<void> {
    this.#ended.add(id);
    const { runId } = run;
    const { state, output, message } = run;
    mustBe({ id, state, output, message }, { id, state: "succeeded", output: expectedOutput(id) });
    const outside = this.#world.lines(id).filter((line) => ONCE.includes(line));
    mustBe({ id, outside }, { id, outside: ONCE });
    const keyed = this.#world.lines(id).filter((line) => line.startsWith("keyed"));
    mustBe({ id, keys: [...new Set(keyed)] }, { id, keys: [keyed[0]] });
    const { known } = this.#known.get(runId) as { known: Known };
    const journal = await this.#killing.ask((client) => journalOf(client, runId));
    const { computed } = this.#compare(id, known, journal);
    mustBe([...computed.keys()].toSorted(), PURE);
    mustBe(
      [...computed.values()].filter((times) => times === 0),
      [],
    );
    this.#known.delete(runId);
  }
}

/** The visits of pure nodes that note when they are computed: three rounds of a loop, and five more. */
const PURE = ["count 1", "count 2", "count 3", "more 1", "more 2", "more 3", "seed 1", "sum 1"]
  .concat("tail/length 1", "twice 1")
  .toSorted();

/** Those visits of a journal that have ended, each by its node and its number. */
function endedIn(journal: readonly JournalEntry[]): string[] {
  const times = new Map<string, number>();
  return journal.flatMap((line) => {
    if (line.event !== "succeeded") return [];
    const time = (times.get(line.node) ?? 0) + 1;
    times.set(line.node, time);
    const name = `${line.node} ${time}`;
    return PURE.includes(name) ? [name] : [];
  });
}

function soundness(file: string): unknown {
  // A server may be at work on it, so it is no copy that is looked at.
  const database = new Database(file, { readonly: true, timeout: 10_000 });
  try {
    return database.pragma("integrity_check", { simple: true });
  } finally {
    database.close();
  }
}

async function journalOf(reader: Pick<Client, "journal">, runId: string): Promise<JournalEntry[]> {
  const journal: JournalEntry[] = [];
  for (;;) {
    const page = await reader.journal(runId, { after: journal.length });
    if (page.length === 0) return journal;
    journal.push(...page);
  }
}

/** It may have been answered by what was asked before a kill, whose answer nobody got. */
async function answer(client: Client, request: RunAnswerRequest): Promise<void> {
  await client.answerRun(request).catch(unlessIsSettled);
}

async function resolve(client: Client, runId: string, output: string | undefined): Promise<void> {
  const resolution: NodeResolution =
    output === undefined ? { outcome: "retry" } : { outcome: "succeeded", output };
  await client.resolveRun(runId, resolution).catch(unlessIsSettled);
}

function unlessIsSettled(thrown: unknown): void {
  const code = thrown instanceof PiWorkflowsError ? thrown.code : "";
  if (!["NO_QUESTION", "ALREADY_ANSWERED", "NOT_AMBIGUOUS"].includes(code)) throw thrown;
}

function mustBe(actual: unknown, expected: unknown): void {
  expect(actual).toEqual(expected);
}
