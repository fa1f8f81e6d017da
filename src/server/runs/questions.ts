import { LIMITS } from "../../model/limits.ts";
import type { Graph } from "../../model/graph.ts";
import type { JournalEntry, RunQuestion } from "../../model/run.ts";
import type { RunReader } from "../../store/runs.ts";

type Begun = Extract<JournalEntry, { event: "begun" }>;
type Ambiguous = Extract<JournalEntry, { event: "ambiguous" }>;

/** What of a run waits for a person, in the order in which it began to. */
export type OpenPoints = { checkpoints: Begun[]; ambiguous: Ambiguous[] };

/** Reads a run's journal for what waits for a person; values of other nodes are not read. */
export async function openPoints(
  store: Pick<RunReader, "journal">,
  runId: string,
): Promise<OpenPoints> {
  const checkpoints = new Map<number, Begun>();
  const ambiguous = new Map<number, Ambiguous>();
  for (let after = 0; ;) {
    const page = await store.journal(runId, { after, limit: LIMITS.page, bodies: false });
    for (const entry of page) {
      after = entry.sequence;
      if (!("visit" in entry)) continue;
      if (entry.event === "begun" && entry.kind === "checkpoint") {
        checkpoints.set(entry.visit, entry);
      } else checkpoints.delete(entry.visit);
      if (entry.event === "ambiguous") ambiguous.set(entry.visit, entry);
      else ambiguous.delete(entry.visit);
    }
    if (page.length < LIMITS.page) break;
  }
  return { checkpoints: [...checkpoints.values()], ambiguous: [...ambiguous.values()] };
}

/** The open questions of a run. */
export async function questionsOf(
  store: Pick<RunReader, "journal">,
  runId: string,
  graph: Graph | undefined,
): Promise<RunQuestion[]> {
  const questions: RunQuestion[] = [];
  for (const { sequence, visit, node, at } of (await openPoints(store, runId)).checkpoints) {
    const [begun] = await store.journal(runId, {
      after: sequence - 1,
      limit: 1,
      bodies: true,
    });
    const schema = graph?.nodes[node]?.outputSchema;
    questions.push({
      runId,
      visit,
      node,
      message: messageOf(begun) ?? graph?.nodes[node]?.title ?? node,
      ...(schema ? { schema } : {}),
      askedAt: at,
    });
  }
  return questions;
}

/** A checkpoint's `begun` keeps its message as its input. */
function messageOf(entry: JournalEntry | undefined): string | undefined {
  if (entry?.event !== "begun") return undefined;
  const { input } = entry;
  if (typeof input === "string") return input;
  if (typeof input !== "object" || input === null || Array.isArray(input)) return undefined;
  const { message } = input;
  return typeof message === "string" ? message : undefined;
}
