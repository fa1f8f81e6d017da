import type { StoredResource } from "../../model/resource.ts";
import { printable, printableLines } from "../../model/text.ts";
import { columns } from "../columns.ts";
import { readDetails, type Details } from "../details.ts";
import { describeOrigin, describeOwner } from "../origin.ts";
import type { Colors } from "../output.ts";
import { paintReady, readinessOf, summaryOf } from "../readiness.ts";
import type { Documents } from "../schemas/documents.ts";
import { presentable, presentableEffects } from "../secrets.ts";
import { childTable } from "../runs/table.ts";
import { conditionTable, effectTable, eventRow, passTable, type Paint } from "../tables.ts";
import { instant, lasting, relative } from "../time.ts";
import type { Action } from "../verb.ts";

export const run: Action<{ showSecrets?: boolean }> = async (cli, options, manager, key) => {
  const reader = await cli.reader();
  const ref = { project: cli.project, resourceManager: manager, key };
  const details = await readDetails(reader, ref);
  const showSecrets = options.showSecrets === true;
  const resource = await presentable(reader, details.resource, showSecrets);
  const effects = showSecrets ? details.effects : await presentableEffects(reader, details.effects);
  const shown = { ...details, resource, effects };
  const paint = { colors: cli.output.colors, now: Date.now() };
  cli.output.result(shown satisfies Documents["describe"], () => describe(shown, paint));
};

function describe(details: Details, paint: Paint): string {
  const { resource, status } = { resource: details.resource, ...details.resource.resource };
  const sections: [string, string][] = [
    ["Spec", json(resource.resource.spec)],
    ["Status", json(status.resourceManagerStatus)],
    [
      "Conditions",
      status.conditions.length > 0 ? conditionTable(status.conditions, paint) : "none",
    ],
    ["Effects", details.effects.length > 0 ? effectTable(details.effects, paint) : "none"],
    ["Child runs", runLines(details, paint)],
    ["Passes", details.passes.length > 0 ? passTable(details.passes, paint) : "none yet"],
    ["Events", eventLines(details, paint.colors)],
  ];
  return [
    head(details, paint),
    ...sections.flatMap(([title, body]) => ["", paint.colors.bold(title), indent(body)]),
  ].join("\n");
}

function head(details: Details, paint: Paint): string {
  const { colors, now } = paint;
  const { metadata, status } = details.resource.resource;
  const stored = details.resource;
  const rows = [
    ["ready", readyLine(stored, colors)],
    [
      "generation",
      `${metadata.generation} (observed ${status.observedGeneration}), version ${metadata.resourceVersion}`,
    ],
    ["from", printable(describeOrigin(stored.origin))],
    ["owner", printable(describeOwner(stored))],
    ["created", `${instant(stored.createdAt)} (${relative(stored.createdAt, now)})`],
    ["uid", metadata.uid],
    ["project", printable(stored.project)],
    ...optionalRows(stored, now),
    ["queue", queueLine(details, now)],
  ];
  const title = printable(`${metadata.resourceManager} ${metadata.key}`);
  return `${colors.bold(title)}\n${indent(columns(rows))}`;
}

function readyLine(stored: StoredResource, colors: Colors): string {
  const { ready, reason, message } = readinessOf(summaryOf(stored));
  const why = message ? `${reason}: ${message}` : reason;
  return `${paintReady(ready, colors)} (${printable(why)})`;
}

function optionalRows(stored: StoredResource, now: number): string[][] {
  const { finalizers, deletionTimestamp } = stored.resource.metadata;
  const labels = Object.entries(stored.labels).map(([name, value]) => `${name}=${value}`);
  const rows: [string, string | undefined][] = [
    ["labels", labels.join(", ")],
    ["depends on", stored.dependsOn.join(", ")],
    ["finalizers", finalizers.join(", ")],
    ["deleting", deletionTimestamp && lasting(deletionTimestamp, now)],
    ["suspended", stored.suspended ? "yes" : ""],
    ["protected", stored.prunable ? "" : "prune: false"],
  ];
  return rows.filter(([, value]) => value).map(([name, value]) => [name, printable(value ?? "")]);
}

function queueLine({ queue }: Details, now: number): string {
  if (queue === undefined) return "nothing to do";
  if (queue.claimed) return queue.dirty ? "a pass runs, another will follow" : "a pass runs";
  const failures = queue.attempts > 0 ? `, after ${queue.attempts} failed passes` : "";
  const when =
    queue.readyAt <= now ? "ready for a pass" : `next pass ${relative(queue.readyAt, now)}`;
  return `${when} (${queue.cause}${failures})`;
}

function runLines({ workflows }: Details, { colors, now }: Paint): string {
  return workflows.length === 0 ? "none" : childTable(workflows, { colors, now });
}

function eventLines({ events }: Details, colors: Colors): string {
  if (events.length === 0) return "none yet";
  return columns(events.map((event) => eventRow(event, { colors, resource: false })));
}

function json(value: unknown): string {
  return printableLines(JSON.stringify(value ?? null, null, 2));
}

function indent(text: string): string {
  return text.replace(/^(?=.)/gm, "  ");
}
