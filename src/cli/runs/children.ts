import { hasEnded, type RunSummary } from "../../model/run.ts";
import type { StoreReader } from "../../store/store.ts";
import type { Details } from "../details.ts";
import type { Child } from "../present.ts";
import { adviceOn } from "./advice.ts";
import { readRunDetails } from "./details.ts";
import { shortId } from "./ids.ts";
import { presentableRun } from "./secrets.ts";

/**
 * What is to be said of a resource's child runs: of those that have not ended, and of the one that it
 * asked for last where that failed.
 */
export async function childrenOf(
  reader: StoreReader,
  { workflows, resource }: Pick<Details, "workflows" | "resource">,
): Promise<Child[]> {
  const latest = resource.resource.status.workflowRun?.runId;
  const told = workflows.filter(
    (run) => !hasEnded(run) || (run.runId === latest && run.state === "failed"),
  );
  const children: Child[] = [];
  for (const run of told) children.push(await childOf(reader, run));
  return children;
}

async function childOf(reader: StoreReader, summary: RunSummary): Promise<Child> {
  const run = await reader.run(summary.runId);
  if (run === undefined) return { isOpen: false, sentences: [] };
  const details = presentableRun(await readRunDetails(reader, run, { bodies: false }), false);
  const name = `${run.workflow} ${shortId(run.runId)}`;
  const [first, ...more] = adviceOn({ ...details, serverRuns: true, now: Date.now() });
  const verb = run.state === "failed" ? "" : "is ";
  const reason = run.reason ? ` (${run.reason})` : "";
  return {
    isOpen: !hasEnded(run),
    sentences: [
      `Its child run ${name} ${verb}${run.state}${reason}. ${first ?? ""}`.trimEnd(),
      ...more,
      ...(hasEnded(run)
        ? []
        : [`\`pi-workflows run show ${shortId(run.runId)}\` shows where it is.`]),
    ],
  };
}
