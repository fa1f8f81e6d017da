import { describeRef, type ResourceRef } from "../../model/resource.ts";
import { printable } from "../../model/text.ts";
import type { StoreReader } from "../../store/store.ts";
import { columns } from "../columns.ts";
import { readDetails, type Details } from "../details.ts";
import { findManager } from "../find.ts";
import type { Colors } from "../output.ts";
import { presentOf, type Present } from "../present.ts";
import { describeCommit } from "../provenance.ts";
import { paintReady, readinessOf, summaryOf } from "../readiness.ts";
import { adviceLines } from "../runs/describe.ts";
import { childrenOf } from "../runs/children.ts";
import { presentableEffects } from "../secrets.ts";
import type { Documents } from "../schemas/documents.ts";
import { instant, span } from "../time.ts";
import { timelineOf, type Link } from "../timeline.ts";
import type { Action } from "../verb.ts";

export const run: Action<object> = async (cli, _options, ...args) => {
  const [manager, key] = args as [string, string];
  const reader = await cli.reader();
  const ref = { project: cli.project, resourceManager: manager, key };
  const stored = await readDetails(reader, ref);
  const effects = await presentableEffects(reader, stored.effects);
  const details = { ...stored, effects };
  const history = await reader.history(ref);
  const commit = history[0]?.origin.commit;
  const timeline = timelineOf(
    details,
    history,
    commit === undefined ? undefined : await describeCommit(cli.project, commit),
  );
  const present = presentOf({
    details,
    manager: await findManager(reader, ref),
    serverRuns: (await cli.client({ start: false, anyVersion: true })) !== undefined,
    unready: await unreadyDependencies(reader, details),
    children: await childrenOf(reader, details),
    now: Date.now(),
  });
  const summary = summaryOf(details.resource);
  const readiness = readinessOf(summary);
  const shown = { resource: summary, readiness, timeline, now: present };
  cli.output.result(shown satisfies Documents["why"], () =>
    describe(details, { timeline, present }, cli.output.colors),
  );
};

async function unreadyDependencies(reader: StoreReader, { resource }: Details): Promise<string[]> {
  const unready: string[] = [];
  for (const name of resource.dependsOn) {
    const stored = await reader.get(refOf(resource.project, name));
    if (stored === undefined || readinessOf(summaryOf(stored)).ready !== "True") unready.push(name);
  }
  return unready;
}

function refOf(project: string, name: string): ResourceRef {
  const split = name.indexOf("/");
  return { project, resourceManager: name.slice(0, split), key: name.slice(split + 1) };
}

function describe(
  details: Details,
  { timeline, present }: { timeline: Link[]; present: Present },
  colors: Colors,
): string {
  const { ready, reason, message } = readinessOf(summaryOf(details.resource));
  const name = colors.bold(printable(describeRef(details.resource.resource.metadata)));
  const why = printable(message ? `${reason}: ${message}` : reason);
  return [
    `${name}  ready ${paintReady(ready, colors)} (${why})`,
    "",
    chain(timeline, colors),
    "",
    ...adviceLines(present.sentences),
  ].join("\n");
}

/** Times count from where the spec was stored; what has held for longer stands before it. */
function chain(timeline: Link[], colors: Colors): string {
  const begin = timeline.find(({ kind }) => kind === "spec") ?? timeline[0];
  if (begin === undefined) return "";
  const width = instant(begin.at).length;
  const rows = timeline.map((link) => {
    const distance = link.at - begin.at;
    const offset = `${distance < 0 ? "-" : "+"}${span(Math.abs(distance))}`.padStart(width);
    return [
      colors.dim(link === begin ? instant(link.at) : offset),
      colors.cyan(link.kind),
      printable(link.text),
    ];
  });
  return columns(rows);
}
