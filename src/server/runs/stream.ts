import { isWorkflowLane } from "../../model/graph.ts";
import { LIMITS } from "../../model/limits.ts";
import { hasEnded, type RunLogEntry, type RunSummary, type StoredRun } from "../../model/run.ts";
import type { RunQuery, RunReader } from "../../store/runs.ts";
import type { RunItem } from "../run-protocol.ts";
import { createWake, type WakeSources } from "../streams.ts";
import { nextTurn } from "../turn.ts";

/** What streams about runs are made of. */
export type RunStreamSources = WakeSources & { runs: RunReader };

/**
 * Runs that match: all of them, then `listed`, then each as it changes, or is removed or no longer
 * matches. What changes in between is told once, in its latest state.
 */
export async function* streamRuns(
  sources: RunStreamSources,
  query: RunQuery,
  signal: AbortSignal,
): AsyncGenerator<RunItem> {
  const shown = new Map<string, string>();
  const wake = createWake(sources, signal);
  try {
    let after: string | undefined = query.after;
    do {
      const page = await sources.runs.runs({ ...query, ...(after === undefined ? {} : { after }) });
      for (const run of page.items) {
        shown.set(run.runId, JSON.stringify(run));
        yield { kind: "present", run };
      }
      after = page.next;
      await nextTurn();
    } while (after !== undefined && !signal.aborted);
    yield { kind: "listed" };
    let sweptAt = sources.clock.monotonic();
    while (!signal.aborted) {
      const touched = wake.take().filter((one) => isWorkflowLane(one.resourceManager));
      const ids = new Set(touched.map(({ uid }) => uid));
      // A run can be parked where nothing touches it: everything is looked at now and then.
      if (sources.clock.monotonic() - sweptAt >= LIMITS.heartbeatMs) {
        for (const runId of shown.keys()) ids.add(runId);
        sweptAt = sources.clock.monotonic();
      }
      for (const runId of ids) {
        const item = await changeOf(sources.runs, query, { runId, shown });
        if (item) yield item;
        if (signal.aborted) return;
      }
      await wake.next();
    }
  } finally {
    wake.close();
  }
}

async function changeOf(
  runs: RunReader,
  query: RunQuery,
  { runId, shown }: { runId: string; shown: Map<string, string> },
): Promise<RunItem | undefined> {
  const run = await runs.run(runId);
  if (run && matches(query, run)) {
    const { input: _input, output: _output, ...summary } = run;
    const text = JSON.stringify(summary);
    if (shown.get(runId) === text) return undefined;
    shown.set(runId, text);
    return { kind: "present", run: summary };
  }
  return shown.delete(runId) ? { kind: "removed", runId } : undefined;
}

/** Whether a list with this query would hold the run. */
function matches(query: RunQuery, run: StoredRun | RunSummary): boolean {
  return (
    (query.project ?? run.project) === run.project &&
    (query.workflow ?? run.workflow) === run.workflow &&
    (query.state ?? run.state) === run.state &&
    (query.open !== true || !hasEnded(run)) &&
    (query.parentUid === undefined || query.parentUid === run.parent?.uid) &&
    (query.session === undefined || query.session === run.session) &&
    run.runId.startsWith(query.prefix ?? "")
  );
}

/** A run's log from `after` (exclusive) on, until the run has ended or `signal` aborts. */
export async function* streamRunLog(
  sources: RunStreamSources,
  { runId, after: from = 0 }: { runId: string; after?: number },
  signal: AbortSignal,
): AsyncGenerator<RunLogEntry> {
  const wake = createWake(sources, signal);
  try {
    for (let after = from; !signal.aborted;) {
      // Read before the log: what a run says last is there when it has ended.
      const run = await sources.runs.run(runId);
      const page = await sources.runs.runLog(runId, { after, limit: LIMITS.page });
      for (const entry of page) {
        after = entry.sequence;
        yield entry;
        if (signal.aborted) return;
      }
      if (page.length === LIMITS.page) await nextTurn();
      else if (!run || hasEnded(run)) return;
      else await wake.next();
    }
  } finally {
    wake.close();
  }
}
