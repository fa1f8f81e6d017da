import os from "node:os";
import { PiWorkflowsError } from "../../model/errors.ts";
import { workflowLane, type ResolvedWorkflow } from "../../model/graph.ts";
import { hasEnded, type StoredRun } from "../../model/run.ts";
import type { RunNotice } from "../../runner/run-port.ts";
import type { RunStore } from "../../store/runs.ts";
import { parentOf, type Changes } from "../changes.ts";
import type { Handlers } from "../handlers.ts";
import type { RunApi } from "../run-protocol.ts";
import type { ValueCheck } from "./check.ts";
import { questionsOf } from "./questions.ts";
import type { WorkflowRegistry } from "./registry.ts";

/** What the routes about runs work on. */
export type RunHandlerServices = {
  store: RunStore;
  workflows: WorkflowRegistry;
  /** What a run's own code says of itself, also where a newer definition was accepted since. */
  definitionOf: (run: StoredRun) => Promise<ResolvedWorkflow | undefined>;
  accept: (
    project: string,
    proposals: RunApi["acceptWorkflows"]["params"]["proposals"],
  ) => Promise<RunApi["acceptWorkflows"]["result"]>;
  check: ValueCheck;
  changes: Changes;
  scheduler: RunScheduler;
};

/** What the scheduler does about a run that changed from outside. */
export type RunScheduler = {
  wake(target: { project: string; manager: string }): void;
  /** Tells the runner that works on a run, where there is one. */
  notify(runId: string, notice: RunNotice): void;
};

type RunHandlers = Pick<Handlers, keyof RunApi>;

/** One function per route about workflows and runs. */
export function runHandlers(services: RunHandlerServices): RunHandlers {
  return { ...readHandlers(services), ...startHandlers(services), ...orderHandlers(services) };
}

type ReadRoute = "workflows" | "run" | "runs" | "journal" | "runLog" | "questions";

function readHandlers({ store, definitionOf }: RunHandlerServices): Pick<RunHandlers, ReadRoute> {
  const questions = async (run: StoredRun) =>
    hasEnded(run) ? [] : questionsOf(store, run.runId, (await definitionOf(run))?.graph);
  return {
    workflows: ({ project }) => store.workflows(project),
    run: ({ runId }) => runOf(store, runId),
    runs: (query) => store.runs(query),
    journal: ({ runId, ...query }) => store.journal(runId, query),
    runLog: ({ runId, ...query }) => store.runLog(runId, query),
    questions: async ({ runId, session }) => {
      if (runId !== undefined) return questions(await runOf(store, runId));
      const found = [];
      for (let after: string | undefined; ;) {
        const page = await store.runs({
          open: true,
          ...(session === undefined ? {} : { session }),
          ...(after === undefined ? {} : { after }),
        });
        for (const run of page.items)
          found.push(...(await questions(await runOf(store, run.runId))));
        after = page.next;
        if (after === undefined) return found;
      }
    },
  };
}

type StartRoute = "acceptWorkflows" | "startRun" | "retryRun";

function startHandlers(services: RunHandlerServices): Pick<RunHandlers, StartRoute> {
  const { store, workflows, check, accept } = services;
  const checkInput = ({
    project,
    workflow,
    input,
  }: Pick<StoredRun, "project" | "workflow" | "input">) =>
    check({
      what: `The input of ${workflow}`,
      value: input,
      schema: workflows.get(project, workflow).inputSchema,
      root: "input",
    });
  return {
    acceptWorkflows: ({ project, proposals }) => accept(project, proposals),
    startRun: async (start) => {
      await checkInput(start);
      return woken(services, await store.startRun({ ...start, startedBy: person() }));
    },
    retryRun: async ({ runId }) => {
      await checkInput(await runOf(store, runId));
      return woken(services, await store.retryRun(runId, person()));
    },
  };
}

type OrderRoute = Exclude<keyof RunApi, ReadRoute | StartRoute>;

/** What people want of a run that is there: durable first, then told to the runner that works on it. */
function orderHandlers(services: RunHandlerServices): Pick<RunHandlers, OrderRoute> {
  const { store, scheduler } = services;
  const ordered = (run: StoredRun, notice: RunNotice): StoredRun => {
    scheduler.notify(run.runId, notice);
    return woken(services, run);
  };
  return {
    pauseRun: async ({ runId }) => ordered(await store.pauseRun(runId), "pause"),
    resumeRun: async ({ runId }) => ordered(await store.resumeRun(runId), "orders"),
    cancelRun: async ({ runId }) => ordered(await store.cancelRun(runId, person()), "orders"),
    answerRun: async (request) => {
      const { runId, value, visit } = request;
      const run = await runOf(store, runId);
      const node = await answered(services, run, request.node);
      await checkOutput(services, run, { node, value, root: "answer" });
      const answer = { node, value, by: person(), ...(visit === undefined ? {} : { visit }) };
      return ordered(await store.answerRun(runId, answer), "orders");
    },
    resolveRun: async ({ runId, visit, resolution }) => {
      const run = await runOf(store, runId);
      const lines = await store.awaited(runId);
      const found = lines.filter(
        (line) => line.event === "ambiguous" && line.visit === (visit ?? line.visit),
      );
      const [attempt] = found;
      if (!attempt || found.length > 1) throw notOneAttempt(run, found);
      if (resolution.outcome === "succeeded") {
        const value = resolution.output ?? null;
        await checkOutput(services, run, { node: attempt.node, value, root: "output" });
      }
      const order = { ...resolution, by: person() };
      return ordered(await store.resolveRun(runId, attempt.visit, order), "orders");
    },
  };
}

/** The checkpoint that an answer is for. @throws NO_QUESTION where that can't be told */
async function answered(
  { store, definitionOf }: RunHandlerServices,
  run: StoredRun,
  node: string | undefined,
): Promise<string> {
  if (node === undefined) {
    const lines = await store.awaited(run.runId);
    const open = lines.filter(({ event }) => event === "begun").map((line) => line.node);
    const [only] = open;
    if (only !== undefined && open.length === 1) return only;
    throw notOneQuestion(run, open);
  }
  const graph = (await definitionOf(run))?.graph;
  if (!graph || graph.nodes[node]?.kind === "checkpoint") return node;
  const all = Object.keys(graph.nodes).filter((name) => graph.nodes[name]?.kind === "checkpoint");
  throw new PiWorkflowsError("NO_QUESTION", `${node} is no checkpoint of ${run.workflow}`, {
    hint: all.length > 0 ? `Its checkpoints: ${all.join(", ")}.` : "It has no checkpoints.",
  });
}

async function checkOutput(
  { check, definitionOf }: RunHandlerServices,
  run: StoredRun,
  { node, ...given }: { node: string; value: StoredRun["input"]; root: "answer" | "output" },
): Promise<void> {
  const schema = (await definitionOf(run))?.graph.nodes[node]?.outputSchema;
  await check({ what: `The ${given.root} of ${node}`, schema, ...given });
}

function notOneQuestion(run: StoredRun, open: string[]): PiWorkflowsError {
  if (open.length > 0) {
    return new PiWorkflowsError("NO_QUESTION", `Run ${run.runId} asks several questions`, {
      hint: `Name the checkpoint: ${open.join(", ")}.`,
    });
  }
  return new PiWorkflowsError("NO_QUESTION", `Run ${run.runId} asks nothing now`, {
    hint: hasEnded(run)
      ? `It has ended: ${run.state}.`
      : "Name the checkpoint to answer it before it is reached.",
  });
}

function notOneAttempt(run: StoredRun, found: { node: string; visit: number }[]): PiWorkflowsError {
  if (found.length === 0) {
    return new PiWorkflowsError("NOT_AMBIGUOUS", `Nothing of run ${run.runId} is to be resolved`);
  }
  const listed = found.map(({ node, visit }) => `${visit} (${node})`).join(", ");
  return new PiWorkflowsError(
    "NOT_AMBIGUOUS",
    `Several attempts of run ${run.runId} are to be resolved`,
    { hint: `Name one by its visit: ${listed}.` },
  );
}

/** @throws NOT_FOUND */
async function runOf(store: RunStore, runId: string): Promise<StoredRun> {
  const run = await store.run(runId);
  if (run) return run;
  throw new PiWorkflowsError("NOT_FOUND", `There is no run ${runId}`, {
    hint: "List runs with `pi-workflows runs`.",
  });
}

/** Tells streams and the scheduler of a run that changed. */
function woken({ changes, scheduler }: RunHandlerServices, run: StoredRun): StoredRun {
  const { project, runId, workflow, parent } = run;
  const lane = workflowLane(workflow);
  changes.touch([{ uid: runId, project, resourceManager: lane, key: runId }, ...parentOf(run)]);
  scheduler.wake({ project, manager: lane });
  // The end of a run that had not begun is told to its parent at once.
  if (parent) scheduler.wake({ project, manager: parent.resourceManager });
  return run;
}

function person(): string {
  return os.userInfo().username;
}
