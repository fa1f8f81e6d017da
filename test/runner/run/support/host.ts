import type { AgentAnswer } from "../../../../src/model/agent.ts";
import type { Clock } from "../../../../src/model/ports.ts";
import type { JournalEntry, JournalInput, RunLogInput } from "../../../../src/model/run.ts";
import type { RunPass } from "../../../../src/runner/run-port.ts";
import type { ScriptedQuestion } from "../../../../src/testing/agents.ts";
import { TestRunHost } from "../../../../src/testing/run-host.ts";
import { clock } from "../../support/pool.ts";

/** The test kit's host of one run, with what only tests of the engine itself look at. */
export class MemoryRunHost extends TestRunHost {
  readonly closed: string[] = [];
  /** Calls of `appendJournal`. */
  appends = 0;
  /** The limits of reads of the journal. */
  readonly reads: number[] = [];
  /** Entries of one page. */
  pageSize = 3;
  /** Answers questions to agents. */
  agent: (question: ScriptedQuestion) => AgentAnswer | Promise<AgentAnswer> = () => {
    throw new Error("no agent here");
  };

  constructor(time: Clock = clock) {
    super("run-1", time, (question) => this.agent(question));
  }

  override readJournal(after: number, limit: number): Promise<JournalEntry[]> {
    this.reads.push(limit);
    return super.readJournal(after, Math.min(limit, this.pageSize));
  }

  override appendJournal(lines: JournalInput[]): Promise<void> {
    this.appends += 1;
    return super.appendJournal(lines);
  }

  override closeAgent(conversation: string): Promise<void> {
    this.closed.push(conversation);
    return Promise.resolve();
  }

  /** The next pass of the run. */
  pass(input: RunPass["input"] = {}, parts: Partial<RunPass> = {}): RunPass {
    this.epoch += 1;
    return {
      runId: "run-1",
      project: process.cwd(),
      workflow: "probe",
      digest: "d",
      input,
      epoch: this.epoch,
      remainingMs: 60_000,
      ...parts,
    };
  }

  /** `event node` of every line, for comparison. */
  get story(): string[] {
    return this.entries.map((entry) =>
      "node" in entry ? `${entry.event} ${entry.node}` : entry.event,
    );
  }

  /** The latest line that says how a node ended well. */
  succeeded(node: string): JournalEntry | undefined {
    return this.entries.findLast((entry) => entry.event === "succeeded" && entry.node === node);
  }

  said(stream: RunLogInput["stream"]): string {
    return this.logged
      .filter((entry) => entry.stream === stream)
      .map(({ text }) => text)
      .join("");
  }
}
