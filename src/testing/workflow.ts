import { randomUUID } from "node:crypto";
import { mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Json } from "../model/canonical.ts";
import type { JournalEntry, NodeResolution, RunEnding, RunLogInput } from "../model/run.ts";
import type { AgentQuestion, RunNotice, RunOutcome } from "../runner/run-port.ts";
import { executeRun } from "../runner/run/execute-run.ts";
import { conform } from "../runner/run/hand-over.ts";
import { compile } from "../workflows/compile.ts";
import type { CommandCall, CompiledNode, CompiledWorkflow } from "../workflows/compiled.ts";
import type { Workflow } from "../workflows/define.ts";
import type { ShellResult } from "../workflows/nodes.ts";
import type { AgentScript } from "./agents.ts";
import { VirtualClock } from "./clock.ts";
import { TestRunHost } from "./run-host.ts";

/** A stand-in for commands: what each comes to, by the path of its node. */
export type CommandScript = (call: CommandCall & { node: string }) => Partial<ShellResult>;

/** What a test of a workflow begins with. */
export type WorkflowTestOptions = {
  input: Json;
  /** Canonical path of the project. Default an empty folder of its own. */
  project?: string;
  /** Answers every agent. Without it an agent fails, as where Pi is not installed. */
  agents?: AgentScript;
  /** Stands in for every shell node. Without it they run. */
  commands?: CommandScript;
  clock?: VirtualClock;
};

/**
 * One run of a workflow in memory, pass by pass: the runtime's own engine and step function over a
 * journal, a clock and agents that the test holds.
 */
export class WorkflowTest {
  readonly runId: string = randomUUID();
  readonly clock: VirtualClock;
  readonly project: string;
  readonly host: TestRunHost;
  /** Where the run stands since its latest pass. */
  ending: RunEnding | undefined;
  readonly #workflow: CompiledWorkflow;
  readonly #input: Json;
  readonly #deadlineAt: number;
  #current: Pass | undefined;
  #epoch = 0;
  /** Code of nodes that has not ended; of pure ones the journal tells only then. */
  #codeUnderWay = 0;
  #notify: (notice: RunNotice) => void = () => undefined;

  constructor(workflow: Workflow, options: WorkflowTestOptions) {
    const { input, agents, commands, clock = new VirtualClock() } = options;
    const compiled = compile(workflow);
    conform(input, compiled.input, {
      what: `the workflow ${compiled.name} was given an input`,
      reason: "InvalidInput",
    });
    this.#workflow = withNodes(compiled, (node) =>
      commands === undefined ? this.#counted(node) : this.#counted(withScript(node, commands)),
    );
    this.#input = input;
    this.clock = clock;
    this.#deadlineAt = clock.monotonic() + compiled.deadlineMs;
    this.project =
      options.project ?? realpathSync(mkdtempSync(path.join(tmpdir(), "workflow-test-")));
    this.host = new TestRunHost(this.runId, clock, agents);
  }

  /** Everything that happened, in order. */
  get journal(): readonly JournalEntry[] {
    return this.host.entries;
  }

  /** `event node` of every line of the journal: what a test of the way through a graph compares. */
  get story(): string[] {
    return this.journal.map((entry) =>
      "node" in entry ? `${entry.event} ${entry.node}` : entry.event,
    );
  }

  get log(): readonly RunLogInput[] {
    return this.host.logged;
  }

  /** What agents were asked. */
  get questions(): readonly AgentQuestion[] {
    return this.host.questions;
  }

  /** What the run handed over. @throws Error where it has not succeeded */
  get output(): Json {
    if (this.ending?.state === "succeeded") return this.ending.output;
    throw new Error(`the run has not succeeded: ${JSON.stringify(this.ending)}`);
  }

  /** What a node handed over when it last ended well; undefined where it has not. */
  outputOf(node: string): Json | undefined {
    const last = this.journal.findLast(
      (entry) => entry.event === "succeeded" && entry.node === node,
    );
    return last?.event === "succeeded" ? last.output : undefined;
  }

  /**
   * Runs until the run has ended or waits for a person. Time moves by itself to the end of the delay
   * before an attempt, whenever nothing else can happen.
   */
  async run(): Promise<RunEnding> {
    this.host.grant(Number.POSITIVE_INFINITY);
    const outcome = await this.#end();
    if (outcome.kind !== "ran") throw new Error(`the pass ${outcome.kind}: ${outcome.message}`);
    return outcome.ending;
  }

  /**
   * Lets the run go on by so many lines of its journal, and holds it there; nothing outside the run
   * happens before the line that announces it. Undefined once the run has ended or waits.
   */
  async step(lines = 1): Promise<JournalEntry | undefined> {
    const wanted = this.journal.length + lines;
    this.host.grant(lines);
    const pass = this.#pass();
    while (pass.outcome === undefined && this.journal.length < wanted) await this.#letHappen();
    if (pass.outcome !== undefined) await this.#end();
    return this.journal.length < wanted ? undefined : this.journal.at(-1);
  }

  /**
   * Runs until the journal has so many more lines, and lets the runner die there. The next `run` takes
   * the run up in a new one, as after a kill.
   */
  async crashAfter(lines: number): Promise<void> {
    this.host.linesLeft = lines;
    this.host.grant(Number.POSITIVE_INFINITY);
    await this.#end();
    this.host.linesLeft = Number.POSITIVE_INFINITY;
  }

  /**
   * Answers a checkpoint, also before it is reached; `run` takes it up.
   * @throws Error where the workflow has no such checkpoint
   */
  answer(node: string, value: Json, by = "test"): void {
    if (this.#workflow.nodes.get(node)?.kind !== "checkpoint") {
      throw new Error(`${node} is no checkpoint of ${this.#workflow.name}`);
    }
    this.host.answer(node, value, by);
    this.#notify("orders");
  }

  /** Settles an ambiguous attempt. @throws Error where there is none */
  resolve(resolution: NodeResolution, by = "test"): void {
    this.host.resolve(resolution, by);
    this.#notify("orders");
  }

  /** Asks for a cancel; while a pass runs it is told. */
  cancel(by = "test"): void {
    this.host.orders.cancel = { by };
    this.#notify("orders");
  }

  /** The pass that is under way, or a new one. */
  #pass(): Pass {
    if (this.#current !== undefined) return this.#current;
    this.#epoch += 1;
    this.host.epoch = this.#epoch;
    const pass: Pass = {};
    this.#current = pass;
    void executeRun({
      workflow: this.#workflow,
      pass: {
        runId: this.runId,
        project: this.project,
        workflow: this.#workflow.name,
        digest: "test",
        input: this.#input,
        epoch: this.#epoch,
        remainingMs: this.#deadlineAt - this.clock.monotonic(),
      },
      host: this.host,
      control: {
        signal: new AbortController().signal,
        onNotice: (listen) => (this.#notify = listen),
      },
      clock: this.clock,
    }).then((outcome) => (pass.outcome = outcome));
    return pass;
  }

  async #end(): Promise<RunOutcome> {
    const pass = this.#pass();
    while (pass.outcome === undefined) await this.#letHappen();
    this.#current = undefined;
    if (pass.outcome.kind === "ran") this.ending = pass.outcome.ending;
    return pass.outcome;
  }

  /**
   * What needs no time happens first. Where an attempt is under way its code may need real time; where
   * none is, the run waits for a delay of its own, and the clock moves there.
   */
  async #letHappen(): Promise<void> {
    const lines = this.journal.length;
    await this.clock.advance(0);
    if (this.journal.length > lines) return;
    await new Promise((resolve) => setTimeout(resolve, REAL_MS));
    if (this.journal.length > lines || this.#isBusy()) return;
    const next = this.clock.monotonic() + this.clock.untilNext();
    // The run's own deadline is always among the timers, and may be before the end of a delay.
    const isDelayed = next < this.#deadlineAt || this.clock.pending() > 1;
    if (isDelayed) await this.clock.advance(this.clock.untilNext());
  }

  #counted(node: CompiledNode): CompiledNode {
    const { work } = node;
    if (work.by !== "code") return node;
    const run: typeof work.run = (ctx) => {
      const made = work.run(ctx);
      if (!(made instanceof Promise)) return made;
      this.#codeUnderWay += 1;
      return made.finally(() => (this.#codeUnderWay -= 1));
    };
    return { ...node, work: { ...work, run } };
  }

  #isBusy(): boolean {
    if (this.#codeUnderWay > 0) return true;
    const open = new Set<string>();
    for (const entry of this.journal) {
      if (!("visit" in entry)) continue;
      const attempt = `${entry.visit}.${entry.attempt}`;
      if (entry.event === "begun" && entry.epoch === this.#epoch) open.add(attempt);
      else open.delete(attempt);
    }
    return open.size > 0;
  }
}

/** How a pass ended, once it has. */
type Pass = { outcome?: RunOutcome };

/** Real time that code gets in which nothing was journaled, before the clock moves. */
const REAL_MS = 2;

/**
 * Tests a workflow in memory.
 * @throws PiWorkflowsError INVALID_DEFINITION where it does not hold together
 * @throws HandOverError where its input does not fit
 */
export function testWorkflow(workflow: Workflow, options: WorkflowTestOptions): WorkflowTest {
  return new WorkflowTest(workflow, options);
}

function withNodes(
  workflow: CompiledWorkflow,
  change: (node: CompiledNode) => CompiledNode,
): CompiledWorkflow {
  const nodes = [...workflow.nodes].map(([name, node]) => [name, change(node)] as const);
  return { ...workflow, nodes: new Map(nodes) };
}

/** The same node with its command done by the script, judged as a real one is. */
function withScript(node: CompiledNode, script: CommandScript): CompiledNode {
  const { work } = node;
  if (work.by !== "command") return node;
  return {
    ...node,
    work: {
      by: "code",
      run(ctx) {
        const said = script({ ...work.call(ctx), node: node.path });
        const result = { exitCode: 0, stdout: "", stderr: "", isCut: false, ...said };
        const fine = work.exitCodes === "any" || work.exitCodes.includes(result.exitCode);
        if (!fine) throw new Error(`ended with exit code ${result.exitCode}: ${result.stderr}`);
        return work.parse === undefined ? result : work.parse(result, ctx);
      },
    },
  };
}
