import type { Json } from "../../model/canonical.ts";
import { printable } from "../../model/text.ts";
import type { GenerationRecord } from "../../store/store.ts";
import { columns } from "../columns.ts";
import { notFound } from "../find.ts";
import { describeOrigin, describeOwner } from "../origin.ts";
import type { Colors } from "../output.ts";
import type { Documents } from "../schemas/documents.ts";
import { maskOf } from "../secrets.ts";
import { instant, relative } from "../time.ts";
import type { Action } from "../verb.ts";
import type { FieldChange } from "../../model/plan.ts";

type Options = { diff?: boolean; showSecrets?: boolean };
type Entry = GenerationRecord & { changes?: FieldChange[] };

export const run: Action<Options> = async (cli, options, ...args) => {
  const [manager, key] = args as [string, string];
  const reader = await cli.reader();
  const ref = { project: cli.project, resourceManager: manager, key };
  // A removed resource has one too, for as long as it is kept.
  const records = await reader.history(ref);
  if (records.length === 0) throw await notFound(reader, ref);
  const mask = options.showSecrets ? (spec: Json) => spec : await maskOf(reader, ref);
  const entries = options.diff ? await withChanges(records, mask) : records;
  const shown = entries.map((entry) => ({ ...entry, spec: mask(entry.spec) }));
  cli.output.result({ generations: shown } satisfies Documents["history"], () =>
    describe(shown, cli.output.colors),
  );
};

/** Newest first; each is compared with the one before it. */
async function withChanges(
  records: GenerationRecord[],
  mask: (spec: Json) => Json,
): Promise<Entry[]> {
  const { diffFields } = await import("../../diff/fields.ts");
  return records.map((record, index) => {
    const before = records[index + 1];
    if (before === undefined) return record;
    return { ...record, changes: diffFields(mask(before.spec), mask(record.spec), "spec") };
  });
}

function describe(entries: Entry[], colors: Colors): string {
  const now = Date.now();
  const rows = entries.map((entry) => [
    String(entry.generation),
    instant(entry.at),
    relative(entry.at, now),
    printable(describeOrigin(entry.origin)),
    printable(describeOwner(entry.origin)),
  ]);
  const heading = ["GENERATION", "AT", "AGE", "FROM", "OWNER"].map((title) => colors.bold(title));
  const lines = columns([heading, ...rows]).split("\n");
  return lines
    .flatMap((line, index) => [line, ...changeLines(entries[index - 1]?.changes ?? [], colors)])
    .join("\n");
}

function changeLines(changes: FieldChange[], colors: Colors): string[] {
  return changes.flatMap(({ path, before, after }) => [
    `    ${printable(path)}`,
    ...(before === undefined ? [] : [colors.red(`      - ${text(before)}`)]),
    ...(after === undefined ? [] : [colors.green(`      + ${text(after)}`)]),
  ]);
}

function text(value: Json): string {
  return printable(JSON.stringify(value));
}
